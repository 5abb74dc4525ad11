/**
 * What is measured: cells, each a topology, a kind of trouble and the distance of the replica that
 * has it, clockwise from the primary; and the order in which they are run. Every run of a cell
 * follows a run of its healthy partner, which is the same in all but the trouble: what changes on
 * the machine in the course of an hour hits both alike, and only the ratio within a pair is judged.
 */
import { assert } from '../../stdx/index.ts';
import type { TopologyName } from '../../vsr/index.ts';

export const KINDS = [
  'closed',
  'closed-stop',
  'open',
  'open-kill',
  'open-stop',
  'return',
  'primary',
  'delay',
] as const;
export type Kind = (typeof KINDS)[number];

/** What befalls the victim before the load begins, and what half-way through it. */
export interface KindRule {
  readonly loop: 'closed' | 'open';
  readonly before: 'kill' | 'stop' | 'delay' | null;
  readonly during: 'kill' | 'stop' | 'start' | null;
  /** The victim is the primary, whatever distances are asked for. */
  readonly isPrimary: boolean;
  readonly text: string;
}

export const kindRules: { readonly [kind in Kind]: KindRule } = {
  closed: rule('closed', 'kill', null, 'closed loop, a backup killed before'),
  'closed-stop': rule('closed', 'stop', null, 'closed loop, a backup stopped before'),
  open: rule('open', 'kill', null, 'open loop, a backup killed before'),
  'open-kill': rule('open', null, 'kill', 'open loop, a backup killed half-way'),
  'open-stop': rule('open', null, 'stop', 'open loop, a backup stopped for a while'),
  return: rule('open', 'kill', 'start', 'open loop, the dead backup returns half-way'),
  primary: { ...rule('open', null, 'kill', 'open loop, the primary killed'), isPrimary: true },
  delay: rule('open', 'delay', null, 'open loop, the way from the primary to a backup delayed'),
};

function rule(
  loop: KindRule['loop'],
  before: KindRule['before'],
  during: KindRule['during'],
  text: string,
): KindRule {
  return { loop, before, during, isPrimary: false, text };
}

export interface Cell {
  readonly topology: TopologyName;
  readonly kind: Kind;
  /** Of the victim, clockwise from the primary; 0: the primary; `null`: there is none. */
  readonly distance: number | null;
}

/** One run, in the order in which they are made. */
export interface Step {
  readonly cell: Cell;
  /** The cell that this healthy run is compared with; `null` for the cell itself. */
  readonly partnerOf: Cell | null;
  /** From 0. */
  readonly round: number;
}

/** A comma-separated list of some of `names`, or `null` when it is not one. */
export function parseNames<T extends string>(text: string, names: readonly T[]): T[] | null {
  const found = text.split(',').map((word) => names.find((name) => name === word.trim()));
  return found.every((name) => name !== undefined) ? [...new Set(found)] : null;
}

/** `none,1,2`: distances below `replicaCount`, or `null` when the text makes no sense. */
export function parseDistances(text: string, replicaCount: number): (number | null)[] | null {
  const names = ['none', ...distancesOf(replicaCount).map(String)];
  const found = parseNames(text, names);
  return found === null ? null : found.map((name) => (name === 'none' ? null : Number(name)));
}

/** Every distance that a backup can have. */
export function distancesOf(replicaCount: number): number[] {
  assert(replicaCount >= 1, 'distancesOf: no replicas');
  return Array.from({ length: replicaCount - 1 }, (_, index) => index + 1);
}

export interface CellChoice {
  readonly topologies: readonly TopologyName[];
  readonly kinds: readonly Kind[];
  /** `null`: nobody is in trouble. */
  readonly distances: readonly (number | null)[];
}

/** All combinations that make sense. */
export function cellsOf({ topologies, kinds, distances }: CellChoice): Cell[] {
  return topologies.flatMap((topology) =>
    kinds.flatMap((kind): Cell[] => {
      const wanted = kindRules[kind].isPrimary ? [0] : distances;
      return wanted.map((distance) => ({ topology, kind, distance }));
    }),
  );
}

/** The same without trouble. */
export function partnerOf(cell: Cell): Cell {
  return { ...cell, distance: null };
}

/**
 * The runs, `rounds` of each cell, cell after cell within a round. A healthy cell is run for itself
 * only if no other cell brings it along as its partner.
 */
export function planSteps(cells: readonly Cell[], rounds: number): Step[] {
  assert(rounds >= 1, 'planSteps: no rounds');
  const steps: Step[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const cell of cells) {
      if (cell.distance === null) {
        const isPartner = cells.some((other) => other.distance !== null && isSameKind(cell, other));
        if (!isPartner) steps.push({ cell, partnerOf: null, round });
      } else {
        steps.push({ cell: partnerOf(cell), partnerOf: cell, round });
        steps.push({ cell, partnerOf: null, round });
      }
    }
  }
  return steps;
}

export function isSameKind(one: Cell, other: Cell): boolean {
  return one.topology === other.topology && one.kind === other.kind;
}

export function isSameCell(one: Cell, other: Cell): boolean {
  return isSameKind(one, other) && one.distance === other.distance;
}

/** `none`, `primary`, or the number. */
export function distanceText(distance: number | null): string {
  if (distance === null) return 'none';
  return distance === 0 ? 'primary' : String(distance);
}

/** For lines and errors: `star, closed, 3`. */
export function cellText(cell: Cell): string {
  return `${cell.topology}, ${cell.kind}, ${distanceText(cell.distance)}`;
}
