/**
 * Notices when a machine looks at the world outside: a clock, or chance. Two replicas that look see
 * different things, and most of the time that shows only later, in another place; here it shows at
 * once and by name. While a run lasts, the functions below are replaced by ones that take a note
 * when they are called within a machine, and do what they always do.
 *
 * It cannot see everything: what a machine has imported from a module by name, such as
 * `randomUUID` of Node's `crypto`, is out of reach. That is left to the comparison of replicas.
 */

/** Where a function is found, and its name. */
const WATCHED: readonly (readonly [string, string])[] = [
  ['Math', 'random'],
  ['Date', 'now'],
  ['performance', 'now'],
  ['crypto', 'getRandomValues'],
  ['crypto', 'randomUUID'],
  ['process', 'hrtime'],
  ['process', 'uptime'],
];
const CLOCK_CLASS = 'Date';

type AnyFunction = (this: unknown, ...values: unknown[]) => unknown;
type AnyClass = new (...values: unknown[]) => object;

export class OutsideWorld {
  /** What was looked at within the machine since it was entered. */
  #seen: string | null = null;
  #depth: number = 0;

  /** Runs `action`; afterwards everything is as it was. */
  watch<T>(action: () => T): T {
    const undo: (() => void)[] = [];
    for (const [name, key] of WATCHED) {
      const restore = this.#replaceFunction(name, key);
      if (restore !== null) undo.push(restore);
    }
    const restoreClass = this.#replaceClass();
    try {
      return action();
    } finally {
      restoreClass();
      for (const restore of undo.toReversed()) restore();
    }
  }

  /** Runs a machine's code. Returns what it looked at first; `null`: nothing. */
  within(code: () => void): string | null {
    this.#depth++;
    this.#seen = null;
    try {
      code();
    } finally {
      this.#depth--;
    }
    return this.#seen;
  }

  #note(what: string): void {
    if (this.#depth > 0) this.#seen ??= what;
  }

  #replaceFunction(name: string, key: string): (() => void) | null {
    const holder: unknown = Reflect.get(globalThis, name);
    if ((typeof holder !== 'object' && typeof holder !== 'function') || holder === null)
      return null;
    const original: unknown = Reflect.get(holder, key);
    if (typeof original !== 'function') return null;
    const before = Object.getOwnPropertyDescriptor(holder, key);
    const note = (): void => this.#note(`${name}.${key}()`);
    const watching: AnyFunction = (...values) => {
      note();
      return Reflect.apply(original, holder, values);
    };
    // What hangs on the function, such as `hrtime.bigint`, is still there.
    const value = Object.assign(watching, original);
    const isSet = Reflect.defineProperty(holder, key, {
      value,
      writable: true,
      configurable: true,
    });
    if (!isSet) return null;
    return () => {
      if (before === undefined) Reflect.deleteProperty(holder, key);
      else Object.defineProperty(holder, key, before);
    };
  }

  /** The class of dates, whose instances are the present unless they are told otherwise. */
  #replaceClass(): () => void {
    const original = Reflect.get(globalThis, CLOCK_CLASS) as AnyClass;
    const note = (): void => this.#note(`new ${CLOCK_CLASS}()`);
    const watching = new Proxy(original, {
      construct: (target, values: unknown[], newTarget) => {
        if (values.length === 0) note();
        return Reflect.construct(target, values, newTarget) as object;
      },
      apply: (target, self, values: unknown[]) => {
        note();
        return Reflect.apply(target as unknown as AnyFunction, self, values);
      },
    });
    Reflect.set(globalThis, CLOCK_CLASS, watching);
    return () => void Reflect.set(globalThis, CLOCK_CLASS, original);
  }
}
