/** Schemas to the real ovsdb-tool and to ours: the same ones refused, with the same words. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  isError,
  type Json,
  parseJson,
  parseSchema,
  schemaToJson,
  serializeSorted,
} from '../src/ovsdb/index.ts';
import { rightSchemas, wrongSchemas } from '../src/ovsdb/schema/schema-cases-test-helper.ts';
import { executable, Peer, peerMissing } from './ovsdb-peer/peer.ts';

const skip = peerMissing();

function jsonOf(text: string): Json {
  const result = parseJson(text);
  assert.ok(result.ok, text);
  return result.value;
}

test('wrong schemas are refused in the words of the original', { skip }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ovsdb-schema-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const different: string[] = [];
  for (const [i, text] of wrongSchemas.entries()) {
    const path = join(folder, 'schema');
    writeFileSync(path, text);
    const tool = executable('ovsdb-tool') as string;
    const { stderr } = spawnSync(tool, ['create', join(folder, `db${i}`), path], {
      encoding: 'utf8',
    });
    const ours = parseSchema(jsonOf(text));
    const prefix = `failed to parse "${path}" as ovsdb schema: `;
    const theirs = stderr
      .replace(/^ovsdb-tool: /, '')
      .replace(prefix, '')
      .trim();
    if (theirs !== (isError(ours) ? String(ours) : '')) {
      different.push(`${text}\n  theirs ${theirs}\n  ours   ${isError(ours) ? ours : 'accepted'}`);
    }
  }
  assert.deepEqual(different, []);
});

test('right schemas are written as by the original', { skip }, async () => {
  for (const text of rightSchemas) {
    const ours = parseSchema(jsonOf(text));
    assert.ok(!isError(ours), `${text}: ${String(ours)}`);
    const peer = await Peer.start(text);
    const reply = await peer.request('get_schema', ['D']);
    peer.stop();
    const theirs = serializeSorted(reply['result'] ?? reply);
    // Reals are numbers by now: compared as they are read.
    assert.equal(serializeSorted(jsonOf(serializeSorted(schemaToJson(ours)))), theirs);
  }
});
