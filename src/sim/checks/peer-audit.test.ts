import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeSafeU64 } from '../../stdx/index.ts';
import {
  Command,
  createChecksum,
  HEADER_SIZE,
  initHeader,
  PeerOffset,
  PrepareOffset,
  sealBody,
  sealHeader,
} from '../../wire/index.ts';
import { TallyMachine } from '../subjects/tally-test-helper.ts';
import { type FailureCode, SimulationFailure } from '../world/failure.ts';
import { World } from '../world/world.ts';
import { History } from './history.ts';
import { PeerAudit } from './peer-audit.ts';

const checksum = createChecksum();
const CLUSTER = new Uint8Array(16).fill(3);

type Fields = { readonly [field in keyof typeof PeerOffset]?: number | Uint8Array };

function message(command: Command, replica: number, view: number, fields: Fields): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE);
  initHeader(bytes, { command, size: HEADER_SIZE, cluster: CLUSTER, view, release: 1, replica });
  for (const [name, value] of Object.entries(fields)) {
    const offset = PeerOffset[name as keyof typeof PeerOffset];
    if (typeof value === 'number') writeSafeU64(bytes, offset, value);
    else bytes.set(value, offset);
  }
  sealBody(bytes, checksum);
  sealHeader(bytes, checksum);
  return bytes;
}

function prepare(view: number, op: number, tag: number = 0, author: number = view % 3): Uint8Array {
  const bytes = message(Command.prepare, author, view, {});
  writeSafeU64(bytes, PrepareOffset.op, op);
  bytes[PrepareOffset.client] = tag;
  bytes[PrepareOffset.operation] = 128;
  sealHeader(bytes, checksum);
  return bytes;
}

const sum = (bytes: Uint8Array): Uint8Array => bytes.slice(0, 16);

/** Three replicas whose files say what the test says. */
function scene(isRotting: boolean = false) {
  const world = new World({ seed: 1 });
  const history = new History(world, new TallyMachine());
  const files = [0, 1, 2].map(() => ({ view: 0, logView: 0, held: new Set<string>() }));
  const name = (op: number, bytes: Uint8Array): string => `${op} ${bytes.join('.')}`;
  const audit = new PeerAudit(world, history, {
    replicaCount: 3,
    replicationQuorum: 2,
    durable: (replica) => ({ ...files[replica]! }),
    held: (replica, op, bytes, offset) => {
      const isIt = files[replica]!.held.has(name(op, bytes.subarray(offset, offset + 16)));
      return isIt ? 'it' : 'other';
    },
    isRotting,
  });
  const lives = [1, 1, 1];
  return {
    audit,
    lives,
    file: (replica: number, view: number, logView: number = view) => {
      files[replica]!.view = view;
      files[replica]!.logView = logView;
    },
    holds: (replica: number, op: number, bytes: Uint8Array) => {
      files[replica]!.held.add(name(op, sum(bytes)));
    },
    says: (replica: number, bytes: Uint8Array) => audit.onSend(replica, lives[replica]!, 0, bytes),
  };
}

type Scene = ReturnType<typeof scene>;

/** Op 1 of view 0, which replicas 0 and 1 hold. */
function begun(): Scene {
  const s = scene();
  const first = prepare(0, 1);
  s.says(0, first);
  s.holds(0, 1, first);
  s.holds(1, 1, first);
  s.says(1, message(Command.prepareOk, 1, 0, { op: 1, checksum: sum(first) }));
  s.says(0, message(Command.commit, 0, 0, { commitMax: 1, checksum: sum(first) }));
  return s;
}

const commitOf = (view: number, op: number, of: Uint8Array): Uint8Array =>
  message(Command.commit, view % 3, view, { commitMax: op, checksum: sum(of) });

test('a lawful conversation passes: forwarding, view changes, restarts', () => {
  const s = begun();
  // Somebody else sends the prepare on, and later repairs with it in another view.
  s.says(1, prepare(0, 1));
  s.file(1, 1, 0);
  s.file(2, 1, 0);
  s.says(1, message(Command.startViewChange, 1, 1, {}));
  s.says(2, message(Command.doViewChange, 2, 1, { op: 0, logView: 0 }));
  s.says(1, message(Command.doViewChange, 1, 1, { op: 1, logView: 0 }));
  s.file(1, 1);
  s.says(1, message(Command.startView, 1, 1, { op: 1, commitMax: 1 }));
  s.says(1, prepare(1, 2));
  s.says(1, prepare(0, 1));
  // A prepare that nobody was told of, found in its author's log in another life.
  s.audit.onWrite(0, 1, prepare(0, 2));
  // Replica 0 comes back, sends what it once wrote, and learns of the view by asking for it.
  s.lives[0] = 2;
  s.says(0, prepare(0, 1));
  s.says(0, prepare(0, 2));
  s.says(0, message(Command.requestStartView, 0, 7, {}));
});

const CASES: readonly [string, FailureCode, (s: Scene) => void][] = [
  [
    'a view that its file does not hold',
    'view',
    (s) => s.says(2, message(Command.startViewChange, 2, 1, {})),
  ],
  [
    'a view older than one before',
    'view',
    (s) => {
      s.file(2, 4);
      s.says(2, message(Command.ping, 2, 4, {}));
      s.says(2, message(Command.ping, 2, 3, {}));
    },
  ],
  [
    'an acknowledgement with the log of an older view',
    'view',
    (s) => {
      s.file(2, 1, 0);
      s.says(2, message(Command.prepareOk, 2, 1, { op: 1, checksum: sum(prepare(0, 1)) }));
    },
  ],
  [
    'an acknowledgement of what is not in its file',
    'not-durable',
    (s) => s.says(2, message(Command.prepareOk, 2, 0, { op: 1, checksum: sum(prepare(0, 1)) })),
  ],
  [
    'a vote with a log that is not its file’s',
    'view',
    (s) => {
      s.file(2, 3, 0);
      s.says(2, message(Command.doViewChange, 2, 3, { op: 1, logView: 2 }));
    },
  ],
  [
    'a vote behind what it acknowledged',
    'lost-operation',
    (s) => {
      s.file(1, 1, 0);
      s.says(1, message(Command.doViewChange, 1, 1, { op: 0, logView: 0 }));
    },
  ],
  ['two prepares at one place of a view', 'fork', (s) => s.says(0, prepare(0, 1, 9))],
  ['a prepare of another than the primary', 'fork', (s) => s.says(1, prepare(0, 2, 0, 1))],
  ['a prepare that its author never sent', 'fork', (s) => s.says(1, prepare(0, 2))],
  [
    'two operations committed at one place',
    'fork',
    (s) => {
      const other = prepare(1, 1);
      s.file(1, 1);
      s.says(1, other);
      s.holds(1, 1, other);
      s.holds(2, 1, other);
      s.says(1, commitOf(1, 1, other));
    },
  ],
  [
    'a commit that too few files hold',
    'not-durable',
    (s) => {
      const second = prepare(0, 2);
      s.says(0, second);
      s.holds(0, 2, second);
      s.says(0, commitOf(0, 2, second));
    },
  ],
  [
    'a backup that speaks as a primary',
    'view',
    (s) => s.says(1, message(Command.startView, 1, 0, {})),
  ],
  [
    'a primary that goes on with its view after a restart',
    'view',
    (s) => {
      s.lives[0] = 2;
      s.says(0, prepare(0, 2));
    },
  ],
  [
    'a new view whose log is not durable',
    'view',
    (s) => {
      s.file(1, 1, 0);
      s.says(1, message(Command.startView, 1, 1, {}));
    },
  ],
  [
    'two digests after one operation',
    'divergence',
    (s) => {
      const ok = (digest: number): Uint8Array => {
        const fields = { op: 1, checksum: sum(prepare(0, 1)), commitMin: 1 };
        const bytes = new Uint8Array(16).fill(digest);
        return message(Command.prepareOk, 1, 0, { ...fields, digest: bytes });
      };
      s.says(1, ok(1));
      s.says(1, ok(2));
    },
  ],
  [
    'a message under another name',
    'message-misuse',
    (s) => s.says(1, message(Command.ping, 2, 0, {})),
  ],
];

for (const [what, code, act] of CASES) {
  test(`planted: ${what}`, () => {
    const s = begun();
    assert.throws(
      () => act(s),
      (error) => error instanceof SimulationFailure && error.code === code,
    );
  });
}

test('a file that was made anew promises nothing; rot excuses what is missing', () => {
  const s = begun();
  s.audit.onReformat(1);
  s.file(1, 1, 0);
  s.says(1, message(Command.doViewChange, 1, 1, { op: 0, logView: 0 }));
  const rotting = scene(true);
  rotting.says(0, prepare(0, 1));
  rotting.says(2, message(Command.prepareOk, 2, 0, { op: 1, checksum: sum(prepare(0, 1)) }));
  rotting.says(0, commitOf(0, 1, prepare(0, 1)));
});
