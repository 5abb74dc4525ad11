/**
 * Named UUIDs of one transaction (RFC 7047 §5.1, <named-uuid>). A name stands for one fresh UUID
 * from its first mention on, which may precede the insert that gives it to a row.
 */
import type { Uuid, UuidSource } from './uuid.ts';

interface Symbol {
  uuid: Uuid;
  /** An insert has taken the name. */
  created: boolean;
}

export class Symbols {
  readonly #uuids: UuidSource;
  readonly #symbols: Map<string, Symbol> = new Map();

  constructor(uuids: UuidSource) {
    this.#uuids = uuids;
  }

  /** The UUID that the name stands for. */
  resolve(name: string): Uuid {
    return this.#symbol(name).uuid;
  }

  /**
   * Gives the name to a row, of UUID `wanted` if that is given. `null`: an earlier insert has taken
   * it. Earlier mentions keep the UUID that they got, as with the original.
   */
  create(name: string, wanted: Uuid | null): Uuid | null {
    const symbol = this.#symbol(name);
    if (symbol.created) return null;
    symbol.created = true;
    if (wanted !== null) symbol.uuid = wanted;
    return symbol.uuid;
  }

  #symbol(name: string): Symbol {
    let symbol = this.#symbols.get(name);
    if (symbol === undefined) {
      symbol = { uuid: this.#uuids(), created: false };
      this.#symbols.set(name, symbol);
    }
    return symbol;
  }
}
