/**
 * A small writer of SVG: elements as text, attributes and contents escaped. It knows shapes and
 * nothing of what they mean; positions are rounded to a tenth of a unit, to keep pictures small.
 */
import { assert } from '../../stdx/index.ts';

/** The text of one element or of several. */
export type Svg = string;

export interface Attributes {
  readonly [name: string]: string | number;
}

/** An element with everything in it. */
export function element(name: string, attributes: Attributes, ...content: readonly Svg[]): Svg {
  const list = Object.entries(attributes).map(([key, value]) => ` ${key}="${valueText(value)}"`);
  const head = `<${name}${list.join('')}`;
  return content.length === 0 ? `${head}/>` : `${head}>${content.join('')}</${name}>`;
}

export function rectangle(
  place: {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  },
  attributes: Attributes = {},
): Svg {
  return element('rect', { ...place, ...attributes });
}

export function line(
  from: readonly [number, number],
  to: readonly [number, number],
  attributes: Attributes = {},
): Svg {
  return element('line', { x1: from[0], y1: from[1], x2: to[0], y2: to[1], ...attributes });
}

export function dot(at: readonly [number, number], radius: number, attributes: Attributes): Svg {
  return element('circle', { cx: at[0], cy: at[1], r: radius, ...attributes });
}

/** One line of text; `anchor` says which part of it stands at `at`. */
export function label(
  at: readonly [number, number],
  text: string,
  attributes: Attributes & { readonly anchor?: 'start' | 'middle' | 'end' } = {},
): Svg {
  const { anchor = 'start', ...rest } = attributes;
  const place = { x: at[0], y: at[1], 'text-anchor': anchor };
  return element('text', { ...place, ...rest }, escaped(text));
}

/** Moves what is in it. */
export function shifted(by: readonly [number, number], ...content: readonly Svg[]): Svg {
  return element('g', { transform: `translate(${number(by[0])} ${number(by[1])})` }, ...content);
}

/** A picture of its own, on white. */
export function picture(width: number, height: number, ...content: readonly Svg[]): Svg {
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    width,
    height,
    viewBox: `0 0 ${number(width)} ${number(height)}`,
    'font-family': 'system-ui, sans-serif',
    'font-size': 12,
  };
  const paper = rectangle({ x: 0, y: 0, width, height }, { fill: '#ffffff' });
  return `${element('svg', attributes, paper, ...content)}\n`;
}

function valueText(value: string | number): string {
  return typeof value === 'number' ? number(value) : escaped(value);
}

function number(value: number): string {
  assert(Number.isFinite(value), 'svg: not a number');
  return String(Math.round(value * 10) / 10);
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
