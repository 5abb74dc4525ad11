/** Listening to the calls between the parts of a replica, from outside. */

type Method = (...rest: never[]) => unknown;

/** Calls `listen`, with the same arguments, before the method of that name is called. */
export function before<T extends object, K extends keyof T>(
  target: T,
  name: K,
  listen: T[K] extends Method ? (...rest: Parameters<T[K]>) => unknown : never,
): void {
  const original = target[name];
  if (typeof original !== 'function') throw new Error(`not a method: ${String(name)}`);
  const value = (...rest: unknown[]): unknown => {
    Reflect.apply(listen, null, rest);
    return Reflect.apply(original, target, rest);
  };
  Object.defineProperty(target, name, { configurable: true, writable: true, value });
}
