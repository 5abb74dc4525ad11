/**
 * Latency over time, through a moment of trouble: a dot per request, the moment a line, and in grey
 * the same of a run without trouble. Time from left to right, latency on a logarithmic scale, since
 * what matters is how often and by how much it leaves its usual place.
 */
import type { Drawing } from './heat-map.ts';
import { dot, label, line, rectangle, type Svg } from './svg.ts';

export interface LatencyPoint {
  /** Seconds since the load began. */
  readonly atSeconds: number;
  readonly ms: number;
}

export interface LatencyPlot {
  readonly title: string;
  readonly points: readonly LatencyPoint[];
  /** Of the run without trouble; may be empty. */
  readonly healthy: readonly LatencyPoint[];
  /** When the trouble came, seconds; `null`: it was there all the time. */
  readonly troubleAtSeconds: number | null;
}

const WIDTH = 420;
const HEIGHT = 190;
const LEFT = 44;
const TOP = 26;
const BOTTOM = 24;
/** More dots than this only make the file larger: the slowest of each stretch of time are kept. */
const POINTS_MAX = 1500;
const MS_MIN = 0.5;

export function drawLatencies(plot: LatencyPlot): Drawing {
  const all = [...plot.points, ...plot.healthy];
  const seconds = all.reduce((max, { atSeconds }) => Math.max(max, atSeconds), 1);
  const msMax = all.reduce((max, { ms }) => Math.max(max, ms), 10);
  const scale = { seconds, msMax };
  const parts: Svg[] = [
    label([0, 14], plot.title, { 'font-weight': 600 }),
    rectangle(
      { x: LEFT, y: TOP, width: WIDTH - LEFT, height: HEIGHT - TOP - BOTTOM },
      { fill: '#fafafa', stroke: '#cccccc' },
    ),
    ...axes(scale),
    ...dots(plot.healthy, scale, '#b8b8b8'),
    ...dots(plot.points, scale, '#1c5fa8'),
  ];
  if (plot.troubleAtSeconds !== null) {
    const x = xOf(plot.troubleAtSeconds, scale);
    const style = { stroke: '#c0392b', 'stroke-dasharray': '4 3' };
    parts.push(line([x, TOP], [x, HEIGHT - BOTTOM], style));
  }
  return { width: WIDTH, height: HEIGHT, svg: parts.join('') };
}

interface Scale {
  readonly seconds: number;
  readonly msMax: number;
}

function axes(scale: Scale): Svg[] {
  const parts: Svg[] = [];
  for (let ms = 1; ms <= scale.msMax; ms *= 10) {
    const y = yOf(ms, scale);
    parts.push(line([LEFT, y], [WIDTH, y], { stroke: '#e4e4e4' }));
    parts.push(label([LEFT - 6, y + 4], `${ms} ms`, { anchor: 'end', 'font-size': 10 }));
  }
  const step = scale.seconds > 20 ? 10 : scale.seconds > 4 ? 2 : 1;
  for (let second = 0; second <= scale.seconds; second += step) {
    const at: [number, number] = [xOf(second, scale), HEIGHT - BOTTOM + 14];
    parts.push(label(at, `${second} s`, { anchor: 'middle', 'font-size': 10 }));
  }
  return parts;
}

function dots(points: readonly LatencyPoint[], scale: Scale, fill: string): Svg[] {
  return thin(points).map(({ atSeconds, ms }) =>
    dot([xOf(atSeconds, scale), yOf(ms, scale)], 1.4, { fill }),
  );
}

/** The slowest of every few, so that no outlier is lost. */
export function thin(points: readonly LatencyPoint[]): LatencyPoint[] {
  const group = Math.ceil(points.length / POINTS_MAX);
  if (group <= 1) return [...points];
  const kept: LatencyPoint[] = [];
  for (let at = 0; at < points.length; at += group) {
    const some = points.slice(at, at + group);
    kept.push(some.reduce((slowest, one) => (one.ms > slowest.ms ? one : slowest)));
  }
  return kept;
}

function xOf(seconds: number, scale: Scale): number {
  return LEFT + ((WIDTH - LEFT) * seconds) / scale.seconds;
}

function yOf(ms: number, scale: Scale): number {
  const height = HEIGHT - TOP - BOTTOM;
  const share = Math.log(Math.max(MS_MIN, ms) / MS_MIN) / Math.log(scale.msMax / MS_MIN);
  return HEIGHT - BOTTOM - height * share;
}
