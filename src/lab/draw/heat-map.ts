/** A table of numbers as a picture: the higher above 1, the warmer; what is missing says why. */
import { assert } from '../../stdx/index.ts';
import { label, rectangle, type Svg, shifted } from './svg.ts';

export interface HeatMap {
  readonly title: string;
  readonly rowTitle: string;
  readonly columnTitle: string;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  /** By row and column; a text stands for itself, `null`: not measured. */
  readonly values: readonly (readonly (number | string | null)[])[];
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly svg: Svg;
}

const CELL_WIDTH = 84;
const CELL_HEIGHT = 32;
const ROW_TITLE_WIDTH = 150;
const HEAD_HEIGHT = 58;
/** Of a letter of the title, with room to spare: fonts differ. */
const TITLE_UNIT = 9;
/** From here on it is as warm as it gets. */
const RATIO_MAX = 5;

export function drawHeatMap(map: HeatMap): Drawing {
  const { rows, columns, values } = map;
  assert(values.length === rows.length, 'drawHeatMap: rows');
  const parts: Svg[] = [
    label([0, 14], map.title, { 'font-size': 14, 'font-weight': 600 }),
    label([0, HEAD_HEIGHT - 8], map.rowTitle, { fill: '#555555' }),
    label([ROW_TITLE_WIDTH, 34], map.columnTitle, { fill: '#555555' }),
  ];
  for (const [index, column] of columns.entries()) {
    const x = ROW_TITLE_WIDTH + (index + 0.5) * CELL_WIDTH;
    parts.push(label([x, HEAD_HEIGHT - 8], column, { anchor: 'middle' }));
  }
  for (const [row, name] of rows.entries()) {
    const y = HEAD_HEIGHT + row * CELL_HEIGHT;
    parts.push(label([0, y + CELL_HEIGHT / 2 + 4], name));
    for (const [column, value] of values[row].entries()) {
      parts.push(shifted([ROW_TITLE_WIDTH + column * CELL_WIDTH, y], drawCell(value)));
    }
  }
  return {
    width: Math.max(ROW_TITLE_WIDTH + columns.length * CELL_WIDTH, TITLE_UNIT * map.title.length),
    height: HEAD_HEIGHT + rows.length * CELL_HEIGHT,
    svg: parts.join(''),
  };
}

function drawCell(value: number | string | null): Svg {
  const place = { x: 1, y: 1, width: CELL_WIDTH - 2, height: CELL_HEIGHT - 2 };
  if (value === null) return rectangle(place, { fill: '#f4f4f4' });
  const text = typeof value === 'number' ? value.toFixed(2) : value;
  const fill = typeof value === 'number' ? heatColor(value) : '#7a1f1f';
  const ink = isDark(fill) ? '#ffffff' : '#111111';
  const middle: [number, number] = [CELL_WIDTH / 2, CELL_HEIGHT / 2 + 4];
  const shape = rectangle(place, { fill, rx: 3 });
  return shape + label(middle, text, { anchor: 'middle', fill: ink });
}

/** Green up to 1, by way of yellow to red at {@link RATIO_MAX}; equal factors are equal steps. */
export function heatColor(ratio: number): string {
  const heat = Math.min(1, Math.max(0, Math.log(ratio) / Math.log(RATIO_MAX)));
  const stops = [
    [198, 230, 201],
    [255, 236, 160],
    [240, 128, 92],
    [180, 40, 40],
  ];
  const scaled = heat * (stops.length - 1);
  const at = Math.min(stops.length - 2, Math.floor(scaled));
  const part = scaled - at;
  const parts = stops[at].map((from, index) => {
    const to = stops[at + 1][index];
    return Math.round(from + part * (to - from));
  });
  return `#${parts.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

function isDark(color: string): boolean {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  return 0.3 * red + 0.59 * green + 0.11 * blue < 140;
}
