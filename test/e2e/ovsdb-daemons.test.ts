/**
 * Daemons of others that live on our databases: ovn-northd between a northbound and a southbound
 * one makes the rows that it makes with the original; ovs-vswitchd and ovn-controller connect.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { executable } from '../ovsdb-peer/peer.ts';
import { lacking, until, type Whose, World } from './ovsdb-programs.ts';

/** Each is carried through to the southbound database before the next. */
const NORTHBOUND = [
  'ls-add sw0',
  'ls-add sw1',
  'lsp-add sw0 p0',
  'lsp-add sw0 p1',
  'lsp-set-addresses p0 00:00:00:00:00:01',
  'lsp-set-port-security p0 00:00:00:00:00:01',
  'lsp-set-addresses p1 unknown',
  'acl-add sw0 from-lport 1000 tcp drop',
  'acl-add sw0 to-lport 999 udp allow-related',
  'pg-add pg0 p0',
  'create Address_Set name=as0 addresses=10.0.0.5',
  'lr-add r0',
  'lrp-add r0 rp0 00:00:00:00:02:00 10.0.0.1/24',
  'lsp-add sw1 sp0 -- lsp-set-type sp0 router -- lsp-set-addresses sp0 router -- lsp-set-options sp0 router-port=rp0',
  'lr-nat-add r0 snat 172.16.0.1 10.0.0.0/24',
  'lb-add lb0 192.168.0.1:80 10.0.0.5:80',
  'ls-lb-add sw0 lb0',
  'acl-del sw0 to-lport 999 udp',
  'lsp-del p1',
];

/** Tables of the southbound database, and columns that name nothing drawn. */
const SOUTHBOUND: readonly (readonly [string, string])[] = [
  ['Logical_Flow', 'pipeline,table_id,priority,match,actions'],
  ['Datapath_Binding', 'tunnel_key'],
  ['Port_Binding', 'logical_port,type,tunnel_key,mac,options,nat_addresses'],
  ['Multicast_Group', 'name,tunnel_key'],
  ['Address_Set', 'name,addresses'],
  ['Port_Group', 'name'],
  ['Load_Balancer', 'name,vips,protocol'],
  ['DHCP_Options', 'name,code,type'],
];

async function southboundOf(t: TestContext, whose: Whose): Promise<Record<string, string[]>> {
  const world = new World();
  t.after(() => world.end());
  await world.startServer(whose, { schemas: ['ovn-nb.ovsschema'], socket: 'nb' });
  await world.startServer(whose, { schemas: ['ovn-sb.ovsschema'], socket: 'sb' });
  const [nb, sb] = [`unix:${world.path('nb')}`, `unix:${world.path('sb')}`];
  const northd = world.start(executable('ovn-northd') as string, [
    `--ovnnb-db=${nb}`,
    `--ovnsb-db=${sb}`,
    `--unixctl=${world.path('northd.ctl')}`,
    '-vconsole:warn',
  ]);
  for (const command of NORTHBOUND) {
    const parameters = [`--db=${nb}`, '--timeout=30', '--wait=sb', ...command.split(' ')];
    await world.must('ovn-nbctl', parameters);
  }
  assert.equal(northd.exitCode, null, world.outputOf(northd));
  const status = await world.must('ovn-appctl', ['-t', world.path('northd.ctl'), 'status']);
  assert.match(status, /active/, 'ovn-northd has no lock');
  // Drawn by ovn-northd.
  const get = ['get', 'NB_Global', '.', 'options:svc_monitor_mac'];
  const mac = (await world.must('ovn-nbctl', [`--db=${nb}`, ...get])).replaceAll(/["\s]/g, '');
  const rows: Record<string, string[]> = {};
  for (const [table, columns] of SOUTHBOUND) {
    const options = ['--no-headings', '--format=csv', `--columns=${columns}`];
    const text = await world.must('ovn-sbctl', [`--db=${sb}`, ...options, 'list', table]);
    rows[table] = text
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
      .replaceAll(mac, '<mac>')
      .split('\n')
      .sort();
  }
  for (const socket of ['nb', 'sb']) assert.deepEqual(world.complaints(socket), []);
  return rows;
}

test('ovn-northd makes the same southbound rows as with the original', {
  skip: lacking(
    ['ovn-northd', 'ovn-nbctl', 'ovn-sbctl', 'ovsdb-server'],
    ['ovn-nb.ovsschema', 'ovn-sb.ovsschema'],
  ),
  timeout: 180_000,
}, async (t) => {
  const [theirs, ours] = await Promise.all([southboundOf(t, 'theirs'), southboundOf(t, 'ours')]);
  assert.ok((theirs['Logical_Flow']?.length ?? 0) > 100, 'few flows');
  assert.deepEqual(ours, theirs);
});

/** A switch without a datapath of the machine's: it is told to use dummies. */
async function startSwitch(world: World): Promise<string> {
  await world.startServer('ours', { schemas: ['vswitch.ovsschema'], socket: 'db.sock' });
  const address = `unix:${world.path('db.sock')}`;
  await world.must('ovs-vsctl', [`--db=${address}`, '--no-wait', 'init']);
  const child = world.start(executable('ovs-vswitchd') as string, [
    address,
    '--enable-dummy=override',
    '--disable-system',
    `--pidfile=${world.path('ovs-vswitchd.pid')}`,
    `--unixctl=${world.path('ovs-vswitchd.ctl')}`,
    '-vconsole:warn',
  ]);
  await until(
    () => existsSync(world.path('ovs-vswitchd.ctl')) || child.exitCode !== null,
    10_000,
    () => 'ovs-vswitchd does not start',
  );
  return address;
}

test('ovs-vswitchd carries out what is written into our database', {
  skip: lacking(['ovs-vswitchd', 'ovs-vsctl'], ['vswitch.ovsschema']),
  timeout: 120_000,
}, async (t) => {
  const world = new World();
  t.after(() => world.end());
  const address = await startSwitch(world);
  const vsctl = (...parameters: string[]): Promise<string> =>
    world.must('ovs-vsctl', [`--db=${address}`, '--timeout=20', ...parameters]);
  // Without --no-wait: each returns when the switch has done it.
  await vsctl('add-br', 'br0', '--', 'set', 'bridge', 'br0', 'datapath_type=dummy');
  await vsctl('add-port', 'br0', 'p1', '--', 'set', 'Interface', 'p1', 'type=dummy');
  assert.match(await vsctl('get', 'Interface', 'p1', 'ofport'), /^\d+\n$/);
  assert.match(await vsctl('get', 'Open_vSwitch', '.', 'cur_cfg'), /^[1-9]\d*\n$/);
  assert.match(await vsctl('get', 'Bridge', 'br0', 'datapath_id'), /^"[0-9a-f]{16}"\n$/);
  const control = world.path('ovs-vswitchd.ctl');
  assert.match(await world.must('ovs-appctl', ['-t', control, 'ofproto/list']), /br0/);
  assert.deepEqual(world.complaints('db.sock'), []);
});

test('ovn-controller registers its chassis in our southbound database', {
  skip: lacking(
    ['ovn-controller', 'ovs-vswitchd', 'ovn-sbctl'],
    ['vswitch.ovsschema', 'ovn-sb.ovsschema'],
  ),
  timeout: 120_000,
}, async (t) => {
  const world = new World();
  t.after(() => world.end());
  const address = await startSwitch(world);
  await world.startServer('ours', { schemas: ['ovn-sb.ovsschema'], socket: 'sb' });
  const sb = `unix:${world.path('sb')}`;
  await world.must('ovn-sbctl', [`--db=${sb}`, 'init']);
  await world.must('ovs-vsctl', [
    `--db=${address}`,
    '--timeout=20',
    'set',
    'Open_vSwitch',
    '.',
    'external_ids:system-id=ch0',
    `external_ids:ovn-remote=${sb}`,
    'external_ids:ovn-encap-type=geneve',
    'external_ids:ovn-encap-ip=127.0.0.1',
  ]);
  const controller = world.start(executable('ovn-controller') as string, [
    address,
    '-vconsole:warn',
  ]);
  const control = world.path(`ovn-controller.${controller.pid}.ctl`);
  const chassis = (): Promise<string> =>
    world.must('ovn-sbctl', [`--db=${sb}`, '--no-headings', '--columns=name', 'list', 'Chassis']);
  await until(
    async () => (await chassis()).includes('ch0'),
    30_000,
    () => `no chassis: ${world.outputOf(controller)}`,
  );
  const status = ['-t', control, 'connection-status'];
  await until(
    async () => (await world.must('ovn-appctl', status)).trim() === 'connected',
    20_000,
    () => `not connected: ${world.outputOf(controller)}`,
  );
});
