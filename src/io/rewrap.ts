/**
 * Reads accepted sockets into one buffer of ours. Node offers that (`onread`) for sockets that we
 * dial only; on accepted ones each 64 KiB read allocates, which costs more than the copy into the
 * pool. So the handle of the accepted socket is put into a new socket that has the option.
 *
 * The handle is no documented property. Where it is not what we expect, `null` says so and the
 * caller uses `data` events, which do the same, slower.
 */
import { Socket, type SocketConstructorOpts } from 'node:net';
import { assert } from '../stdx/index.ts';

/** Bytes read at a time: a full batch in as few pieces as the kernel's buffers allow. */
export const READ_BUFFER_SIZE = 1_048_576;

/** Called with each piece, valid until it returns; false pauses the reading. */
export type OnRead = (bytes: Uint8Array) => boolean;

/**
 * Moves an accepted, paused socket (`pauseOnConnect`) into one that reads into `buffer`, which all
 * connections may share: a piece is dealt with before the next read begins. On Windows reads are
 * posted ahead, so there it is not done.
 */
export function rewrapSocket(accepted: Socket, buffer: Uint8Array, onRead: OnRead): Socket | null {
  assert(buffer.length > 0, 'rewrapSocket: empty buffer');
  if (process.platform === 'win32') return null;
  const handle: unknown = Reflect.get(accepted, '_handle');
  if (!isStreamHandle(handle)) return null;
  Reflect.set(accepted, '_handle', null);
  const options: SocketConstructorOpts = {
    onread: {
      buffer,
      callback: (length: number, bytes: Uint8Array) => onRead(bytes.subarray(0, length)),
    },
  };
  Reflect.set(options, 'handle', handle);
  const socket = new Socket(options);
  // The empty shell still counts as a connection of its server until it is destroyed.
  accepted.destroy();
  return socket;
}

/** Whether it has what `onread` will call. */
function isStreamHandle(handle: unknown): handle is object {
  if (typeof handle !== 'object' || handle === null) return false;
  return ['useUserBuffer', 'readStart', 'readStop', 'writeBuffer', 'close'].every(
    (name) => typeof Reflect.get(handle, name) === 'function',
  );
}
