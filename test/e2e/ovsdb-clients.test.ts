/**
 * Other people's programs, unmodified, against our server: the same commands to the original and to
 * ours, the same outputs, errors and exit codes.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { lacking, type Ran, type Whose, World } from './ovsdb-programs.ts';

/** A program and what follows it; texts that contain blanks are not needed. */
type Command = string;

interface Told {
  readonly command: Command;
  readonly ran: Ran;
}

/** Lines in any order, UUIDs and paths alike. */
function comparable(world: World, text: string): string[] {
  return text
    .replaceAll(world.folder, '<folder>')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
    .replaceAll(/row[0-9a-f]{8}(_[0-9a-f]{4}){3}_[0-9a-f]{12}/g, '<row>')
    .replaceAll(/^\d{4}-\d\d-\d\dT[\d:.]+Z\|\d+\|/gm, '<time>|')
    .replaceAll(/^-+( +-+)*$/gm, '---')
    .split('\n')
    .map((line) => line.replaceAll(/ +/g, ' ').trim())
    .sort();
}

async function tell(
  t: TestContext,
  whose: Whose,
  schema: string,
  commands: readonly Command[],
): Promise<{ world: World; told: Told[] }> {
  const world = new World();
  t.after(() => world.end());
  const server = await world.startServer(whose, { schemas: [schema], socket: 's' });
  const told: Told[] = [];
  for (const command of commands) {
    const [program, ...parameters] = command.replaceAll('@', `unix:${world.path('s')}`).split(' ');
    told.push({ command, ran: await world.run(program as string, parameters) });
  }
  assert.equal(server.exitCode, null, world.outputOf(server));
  assert.deepEqual(world.complaints('s'), [], `log of ${whose}`);
  return { world, told };
}

/** Both servers get the commands, one after another; `@` is the server's address. */
async function compareCommands(
  t: TestContext,
  schema: string,
  commands: readonly Command[],
): Promise<void> {
  const [theirs, ours] = await Promise.all([
    tell(t, 'theirs', schema, commands),
    tell(t, 'ours', schema, commands),
  ]);
  let failures = 0;
  for (const [i, { command, ran }] of theirs.told.entries()) {
    const mine = (ours.told[i] as Told).ran;
    const shown = (world: World, result: Ran) => ({
      command,
      code: result.code,
      stdout: comparable(world, result.stdout),
      stderr: comparable(world, result.stderr),
    });
    assert.deepEqual(shown(ours.world, mine), shown(theirs.world, ran));
    if (ran.code !== 0) failures += 1;
  }
  assert.ok(failures < commands.length / 2, 'most commands fail on both');
}

test('ovs-vsctl', { skip: lacking(['ovs-vsctl', 'ovsdb-server'], ['vswitch.ovsschema']) }, (t) =>
  compareCommands(
    t,
    'vswitch.ovsschema',
    [
      'init',
      'show',
      'add-br br0',
      'add-br br0',
      '--may-exist add-br br0',
      'add-port br0 p1 -- set Interface p1 type=internal',
      'add-port br0 p2 tag=7',
      'add-bond br0 bond0 p3 p4 lacp=active',
      'add-br br1 br0 9',
      'list-br',
      'list-ports br0',
      'list-ifaces br0',
      'port-to-br p2',
      'iface-to-br p3',
      'br-to-vlan br1',
      'br-to-parent br1',
      'br-exists br7',
      'set Port p2 tag=8 trunks=[1,2,3]',
      'get Port p2 tag trunks',
      'add Port p2 trunks 4 5',
      'remove Port p2 trunks 1',
      '--columns=name,tag,trunks list Port p2',
      'clear Port p2 tag',
      'wait-until Port p2 trunks=[2,3,4,5]',
      'set Port p2 tag=99999',
      'set Port nothing tag=1',
      'set Port p2 nothing=1',
      'br-set-external-id br0 key value',
      'br-get-external-id br0 key',
      'br-get-external-id br0',
      'set-controller br0 tcp:127.0.0.1:6653',
      'get-controller br0',
      'set-fail-mode br0 secure',
      'get-fail-mode br0',
      'set-manager ptcp:6640',
      'get-manager',
      'del-manager',
      'add Open_vSwitch . external_ids a=b c=d',
      'get Open_vSwitch . external_ids',
      '-- --id=@q create QoS type=linux-htb -- set Port p1 qos=@q',
      '--columns=type,queues list QoS',
      '--columns=name find Interface type=internal',
      '--format=csv --columns=name,fake_bridge list Port',
      '--format=json --columns=name list Bridge',
      'del-port br0 p1',
      'del-port nothing',
      '--if-exists del-port nothing',
      'del-br br0',
      'show',
      '--columns=name list Port',
      'emer-reset',
    ].map((line) => `ovs-vsctl --no-wait --db=@ --timeout=20 ${line}`),
  ),
);

const northbound = [
  'init',
  'ls-add sw0',
  'ls-add sw0',
  '--may-exist ls-add sw0',
  'ls-add sw1',
  'lsp-add sw0 p0',
  'lsp-add sw0 p1',
  'lsp-set-addresses p0 00:00:00:00:00:01',
  'lsp-set-port-security p0 00:00:00:00:00:01',
  'lsp-get-addresses p0',
  'lsp-set-options p0 key=value',
  'lsp-get-options p0',
  'acl-add sw0 from-lport 1000 tcp drop',
  'acl-add sw0 to-lport 999 udp allow-related',
  'acl-list sw0',
  'qos-add sw0 to-lport 100 ip4 dscp=10',
  'qos-list sw0',
  'lr-add r0',
  'lrp-add r0 rp0 00:00:00:00:02:00 10.0.0.1/24',
  'lr-route-add r0 10.1.0.0/24 10.0.0.2',
  'lr-route-list r0',
  'lr-nat-add r0 snat 172.16.0.1 10.0.0.0/24',
  'lr-nat-list r0',
  'lb-add lb0 192.168.0.1:80 10.0.0.5:80,10.0.0.6:80',
  'ls-lb-add sw0 lb0',
  'ls-lb-list sw0',
  'lb-list lb0',
  'pg-add pg0 p0 p1',
  'pg-set-ports pg0 p0',
  'meter-add m0 drop 10 kbps 20',
  'meter-list',
  'set NB_Global . name=cluster options:a=b',
  'get NB_Global . name options',
  '--columns=name,ports list Port_Group',
  '--columns=name find Logical_Switch name!=sw1',
  'lsp-list sw0',
  'show',
  'acl-del sw0',
  'lsp-del p1',
  'ls-del sw1',
  'ls-del nothing',
  'lr-del r0',
  'ls-list',
  'list Logical_Switch nothing',
  'nosuch',
];

test(
  'ovn-nbctl, one shot after another',
  {
    skip: lacking(['ovn-nbctl', 'ovsdb-server'], ['ovn-nb.ovsschema']),
  },
  (t) =>
    compareCommands(
      t,
      'ovn-nb.ovsschema',
      northbound.map((line) => `ovn-nbctl --db=@ --timeout=20 ${line}`),
    ),
);

test('ovn-nbctl as a daemon', {
  skip: lacking(['ovn-nbctl', 'ovsdb-server'], ['ovn-nb.ovsschema']),
}, async (t) => {
  const outputs = await Promise.all(
    (['theirs', 'ours'] as const).map(async (whose) => {
      const world = new World();
      t.after(() => world.end());
      await world.startServer(whose, { schemas: ['ovn-nb.ovsschema'], socket: 's' });
      const control = world.path('nbctl.ctl');
      const daemon = ['--pidfile', '--detach', '--log-file', '-u', control];
      // Some releases have no `-u` beside `--detach`: the socket is printed.
      const printed = await world.must('ovn-nbctl', [
        `--db=unix:${world.path('s')}`,
        ...daemon.slice(0, 3),
      ]);
      const told: unknown[] = [];
      for (const line of northbound) {
        const ran = await world.run('ovn-nbctl', ['-u', printed.trim(), ...line.split(' ')]);
        told.push({ line, code: ran.code, stdout: comparable(world, ran.stdout) });
      }
      await world.must('ovn-appctl', ['-t', printed.trim(), 'exit']);
      return told;
    }),
  );
  assert.deepEqual(outputs[1], outputs[0]);
});

test('ovn-sbctl', { skip: lacking(['ovn-sbctl', 'ovsdb-server'], ['ovn-sb.ovsschema']) }, (t) =>
  compareCommands(
    t,
    'ovn-sb.ovsschema',
    [
      'init',
      'chassis-add ch0 geneve 127.0.0.5',
      'chassis-add ch1 geneve,vxlan 127.0.0.6',
      'chassis-add ch0 geneve 127.0.0.7',
      'show',
      'set Chassis ch0 hostname=host0 other_config:a=b',
      '--columns=name,hostname,other_config list Chassis',
      '--columns=ip,type list Encap',
      'set-connection ptcp:6642',
      'get-connection',
      'del-connection',
      'set-ssl a b c',
      'get-ssl',
      'del-ssl',
      'lsp-bind p0 ch0',
      'lflow-list',
      'chassis-del ch1',
      '--columns=name list Chassis',
      'get SB_Global . nb_cfg',
    ].map((line) => `ovn-sbctl --db=@ --timeout=20 ${line}`),
  ),
);
