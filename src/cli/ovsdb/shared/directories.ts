/**
 * The directories that the original is built with, each with the environment variable that moves
 * it.
 */
import { join } from 'node:path';

/** Sockets and pid files. */
export function runDirectory(): string {
  return process.env['OVS_RUNDIR'] || '/var/run/openvswitch';
}

export function logDirectory(): string {
  return process.env['OVS_LOGDIR'] || '/var/log/openvswitch';
}

/** Database files. */
export function databaseDirectory(): string {
  const { OVS_DBDIR, OVS_SYSCONFDIR } = process.env;
  if (OVS_DBDIR) return OVS_DBDIR;
  return OVS_SYSCONFDIR === undefined ? '/etc/openvswitch' : `${OVS_SYSCONFDIR}/openvswitch`;
}

/** Schemas. */
export function packageDirectory(): string {
  return process.env['OVS_PKGDATADIR'] || '/usr/share/openvswitch';
}

/** The name as it is when absolute, otherwise within `directory`. */
export function within(directory: string, name: string): string {
  if (name.startsWith('/')) return name;
  return directory.endsWith('/') ? directory + name : `${directory}/${name}`;
}

/** The name, with the present folder before it unless absolute. */
export function absolute(name: string): string {
  return name.startsWith('/') ? name : join(process.cwd(), name);
}
