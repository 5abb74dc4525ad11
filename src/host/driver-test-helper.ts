/** A scripted engine with everything around it, for tests of the driver. */
import assert from 'node:assert/strict';
import type { Effect, Engine, Event, Instant } from '../engine/index.ts';
import { Clock, MemoryFile } from '../io/index.ts';
import { Command, HEADER_SIZE, initHeader, type Message, MessagePool } from '../wire/index.ts';
import { Driver, type Network } from './driver.ts';

type Script = (event: Event, now: Instant) => readonly Effect[];

export class World implements Engine, Network {
  readonly pool: MessagePool = new MessagePool({
    requestSlotSize: 4096,
    requestSlots: 4,
    replySlots: 0,
    smallSlots: 4,
    poison: true,
  });
  readonly storage: MemoryFile = new MemoryFile();
  readonly clock: Clock = new Clock();
  readonly events: string[] = [];
  readonly seen: string[] = [];
  readonly sent: Message[] = [];
  readonly driver: Driver;
  readonly script: Script;
  resumed: number = 0;
  #isInside: boolean = false;

  constructor(script: Script) {
    this.script = script;
    this.driver = new Driver({
      pool: this.pool,
      storage: this.storage,
      network: this,
      now: () => this.clock.now(),
      listener: {
        onReady: () => this.seen.push('ready'),
        onRestart: () => this.seen.push('restart'),
        onTrace: ({ event }) => this.seen.push(`trace ${event}`),
        onStatus: (connection) => this.seen.push(`status ${connection}`),
        onHalt: (code, reason) => this.seen.push(`halt ${code} ${reason}`),
        onCrash: (error) => this.seen.push(`crash ${String(error)}`),
      },
    });
  }

  step(event: Event, now: Instant): readonly Effect[] {
    assert.equal(this.#isInside, false, 'entered twice');
    this.#isInside = true;
    this.events.push(event.type === 'timer' ? `timer ${event.timer}` : event.type);
    try {
      return this.script(event, now);
    } finally {
      this.#isInside = false;
    }
  }

  invariants(): void {}

  send(connection: number, message: Message): void {
    this.seen.push(`send ${connection}`);
    this.sent.push(message);
  }

  close(connection: number, reason: string): void {
    this.seen.push(`close ${connection} ${reason}`);
  }

  sendPeer(replica: number, message: Message): void {
    this.seen.push(`send-peer ${replica}`);
    this.sent.push(message);
  }

  resume(): void {
    this.resumed += 1;
  }

  message(command: Command = Command.request): Message {
    const message = this.pool.acquire('small');
    assert.ok(message !== null);
    const cluster = new Uint8Array(16);
    const size = HEADER_SIZE;
    initHeader(message.bytes, { command, size, cluster, view: 0, release: 1, replica: 0 });
    return message;
  }
}

export function settled(ms: number = 5): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
