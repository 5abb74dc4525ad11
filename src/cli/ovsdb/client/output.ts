/**
 * Standard output and error of a short-lived program: written at once and synchronously, which is
 * cheaper than the platform's streams and leaves nothing behind when the program ends.
 */
import fs from 'node:fs';
import { encodeUtf8 } from '../../../ovsdb/json/utf8.ts';

const STDOUT = 1;
const STDERR = 2;

/** Between two attempts at a pipe that is full, ms. */
const FULL_PAUSE_MS = 2;

export class Output {
  /** Something could not be written; the original says so when it ends. */
  failed: boolean = false;

  print(text: string): void {
    this.write(encodeUtf8(text));
  }

  write(bytes: Uint8Array): void {
    if (!this.failed && !writeAll(STDOUT, bytes)) this.failed = true;
  }

  /** A line on standard error. */
  complain(text: string): void {
    writeAll(STDERR, encodeUtf8(`${text}\n`));
  }
}

/** Whether all of it could be written. */
function writeAll(fd: number, bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += fs.writeSync(fd, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return false;
      pause();
    }
  }
  return true;
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_PAUSE_MS);
}
