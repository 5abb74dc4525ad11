/**
 * Frames of two servers in one form: members in order, UUIDs that a server has drawn replaced by
 * names in the order in which they turn up, times left out. A name stands for the same UUID as long
 * as a server lives, so a version that changes where it should not is seen.
 */
import {
  isArray,
  isObject,
  type Json,
  memberOf,
  serialize,
  serializeSorted,
} from '../../src/ovsdb/index.ts';

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** UUIDs that tests choose, and zero: the same on both sides. */
const CHOSEN = /^[abc]0000000-0000-4000-8000|^00000000-0000-0000/;

/** Texts that have changed since 3.1.0, the release of Debian 12: newer ones are ours. */
const newerTexts: readonly (readonly [RegExp, string])[] = [
  [
    /within the \\*"\w+\\*" table or deleted from this table within/g,
    'within the table or deleted within',
  ],
];

export class Canonical {
  readonly #names: Map<string, string> = new Map();
  #step: number = 0;
  #namesOfStep: number = 0;

  /** Names begin anew, so that a difference that is allowed does not shift those that follow. */
  nextStep(): void {
    this.#step += 1;
    this.#namesOfStep = 0;
  }

  /** Text of a frame; equal texts mean equal frames. */
  of(frame: Json): string {
    return this.#named(this.#written(frame));
  }

  /** Texts of frames in order, but for updates next to each other: monitors are flushed in any. */
  ofAll(frames: readonly Json[]): string[] {
    const runs: Json[][] = [];
    for (const frame of frames) {
      const last = runs.at(-1);
      if (isUpdate(frame) && last !== undefined && isUpdate(last[0] as Json)) last.push(frame);
      else runs.push([frame]);
    }
    return runs.flatMap((run) =>
      run
        .map((frame) => this.#written(frame))
        .sort(this.#compare)
        .map((text) => this.#named(text)),
    );
  }

  /** In canonical order, with UUIDs as they are. */
  #written(json: Json): string {
    if (isArray(json)) {
      const [kind, elements] = json;
      const isCollection = json.length === 2 && (kind === 'set' || kind === 'map');
      if (isCollection && isArray(elements)) return `["${kind}",[${this.#elements(elements)}]]`;
      return `[${json.map((element) => this.#written(element)).join(',')}]`;
    }
    if (typeof json === 'string') return serialize(withoutTimes(json));
    if (!isObject(json)) return serializeSorted(json);
    const members = Object.entries(json).map(([name, value]) => {
      const inner = name === 'rows' && isArray(value) ? this.#rows(value) : this.#written(value);
      return `${serialize(name)}:${inner}`;
    });
    return `{${members.sort(this.#compare).join(',')}}`;
  }

  /** Rows come in the order of a hash table. */
  #rows(rows: readonly Json[]): string {
    return `[${rows
      .map((row) => this.#written(row))
      .sort(this.#compare)
      .join(',')}]`;
  }

  /** Elements that a server has drawn stand in any order, others in theirs. */
  #elements(elements: readonly Json[]): string {
    const texts = elements.map((element) => this.#written(element));
    const drawn = texts.some((text) => (text.match(UUID) ?? []).some((id) => !CHOSEN.test(id)));
    return (drawn ? texts.sort(this.#compare) : texts).join(',');
  }

  readonly #compare: (a: string, b: string) => number = (a, b) => {
    const [x, y] = [this.#known(a), this.#known(b)];
    return x < y ? -1 : x > y ? 1 : 0;
  };

  /** With the names that there are. */
  #known(text: string): string {
    return text.replaceAll(UUID, (uuid) =>
      CHOSEN.test(uuid) ? uuid : (this.#names.get(uuid) ?? '<new>'),
    );
  }

  #named(text: string): string {
    const older = newerTexts.reduce((t, [newer, old]) => t.replaceAll(newer, old), text);
    return older.replaceAll(UUID, (uuid) => {
      if (CHOSEN.test(uuid)) return uuid;
      const known = this.#names.get(uuid);
      if (known !== undefined) return known;
      const name = `<${this.#step}:${this.#namesOfStep++}>`;
      this.#names.set(uuid, name);
      return name;
    });
  }
}

function isUpdate(frame: Json): boolean {
  if (!isObject(frame)) return false;
  const method = memberOf(frame, 'method');
  return method === 'update' || method === 'update2' || method === 'update3';
}

function withoutTimes(text: string): string {
  return text.replace(/^("wait" timed out after )\d+( ms)$/, '$1N$2');
}
