/**
 * What a process on this machine uses: memory, CPU, bytes written to the disk, read from the
 * kernel's own books. Only where `/proc` exists; elsewhere every reading is `null`.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface ProcessReading {
  readonly rssBytes: number;
  readonly rssPeakBytes: number;
  /** Bytes that the process caused to be sent to the storage layer since it started. */
  readonly writtenBytes: number;
  readonly cpuSeconds: number;
}

/** Clock ticks per second in `/proc/<pid>/stat`: 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Reads a process, or `null` when it is gone or not ours to look at. */
export function readProcess(pid: number): ProcessReading | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const io = readFileSync(`/proc/${pid}/io`, 'latin1');
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Fields are counted from behind the command name, which may hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return {
      rssBytes: 1024 * numberAfter(status, 'VmRSS:'),
      rssPeakBytes: 1024 * numberAfter(status, 'VmHWM:'),
      writtenBytes: numberAfter(io, 'write_bytes:'),
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    };
  } catch {
    return null;
  }
}

/** The process that listens on this local port, if it is on this machine and may be looked at. */
export function findListener(port: number): number | null {
  const inodes = listeningInodes(port);
  if (inodes.size === 0) return null;
  for (const pid of readFolder('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    for (const descriptor of readFolder(`/proc/${pid}/fd`)) {
      const link = readLink(`/proc/${pid}/fd/${descriptor}`);
      const inode = /^socket:\[(\d+)\]$/.exec(link)?.[1];
      if (inode !== undefined && inodes.has(inode)) return Number(pid);
    }
  }
  return null;
}

function listeningInodes(port: number): Set<string> {
  const inodes = new Set<string>();
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readText(table).split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      // local address, remote address, state (0A: listening), …, inode
      if (fields[1]?.endsWith(`:${hex}`) && fields[3] === '0A') inodes.add(fields[9] ?? '');
    }
  }
  return inodes;
}

function numberAfter(text: string, label: string): number {
  const line = text.split('\n').find((candidate) => candidate.startsWith(label));
  return Number.parseInt(line?.slice(label.length) ?? '0', 10);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function readFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
