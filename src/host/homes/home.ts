/**
 * Where a replica lives: its data file, on a disk or in memory, together with the engine that
 * understands it. A server runs any of them and knows no format; what a file is and whether it is
 * the right one has been decided when there is a home.
 */
import type { EngineName, EngineStatus, Machine, ReplicaEngine } from '../../engine/index.ts';
import type { PeerIdentity, Storage } from '../../io/index.ts';
import type { MessagePool, PoolOptions, WasmMemory } from '../../wire/index.ts';

/** What a home's engine is made of, besides the file. */
export interface EngineParts {
  readonly pool: MessagePool;
  /** A machine that has applied nothing. */
  readonly machine: Machine;
  /** For jitter; drawn anew for each life. */
  readonly seed: number;
}

/** An engine whose status has the fields of S. */
export interface HomeEngine<S extends EngineStatus> extends ReplicaEngine {
  status(): S;
}

export interface ReplicaHome<S extends EngineStatus = EngineStatus> {
  readonly engine: EngineName;
  /** For messages. */
  readonly path: string;
  readonly storage: Storage;
  /** How durable writes are made, for status displays. */
  readonly durability: string;
  /** Who this is, for its peers. */
  readonly identity: PeerIdentity;
  /** Largest request, header included, bytes. */
  readonly requestSizeMax: number;
  readonly poolOptions: PoolOptions;
  /** Of the data file; the one that this release reads. */
  readonly formatVersion: number;
  /** The operation that the file's checkpoint was made at; `null`: only the engine can tell. */
  readonly checkpointOp: number | null;
  /** What was read of the file for the next engine; plain values, for recordings. */
  readonly head: unknown;
  /** What an engine is given besides its parts and the head; plain values too. */
  readonly engineOptions: { readonly [name: string]: unknown };
  /** An engine over what the file said when it was opened, or last {@link reload}ed. */
  makeEngine(parts: EngineParts): HomeEngine<S>;
  /** Reads the head of the file again: another life begins. */
  reload(): Promise<void>;
  /** The pool's memory, which can be written to disk without a copy. */
  setAlignedMemory(memory: WasmMemory): void;
  close(): Promise<void>;
}
