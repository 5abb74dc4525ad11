/**
 * What the C library calls the errors of the operating system. Programs that are taken for others
 * print these words, and tests and scripts look for them; the platform has its own.
 */
import { systemCode } from '../errors.ts';

const texts: { readonly [code: string]: string } = {
  EPERM: 'Operation not permitted',
  ENOENT: 'No such file or directory',
  ESRCH: 'No such process',
  EINTR: 'Interrupted system call',
  EIO: 'Input/output error',
  ENXIO: 'No such device or address',
  EBADF: 'Bad file descriptor',
  EAGAIN: 'Resource temporarily unavailable',
  ENOMEM: 'Cannot allocate memory',
  EACCES: 'Permission denied',
  EBUSY: 'Device or resource busy',
  EEXIST: 'File exists',
  EXDEV: 'Invalid cross-device link',
  ENODEV: 'No such device',
  ENOTDIR: 'Not a directory',
  EISDIR: 'Is a directory',
  EINVAL: 'Invalid argument',
  ENFILE: 'Too many open files in system',
  EMFILE: 'Too many open files',
  ETXTBSY: 'Text file busy',
  EFBIG: 'File too large',
  ENOSPC: 'No space left on device',
  ESPIPE: 'Illegal seek',
  EROFS: 'Read-only file system',
  EMLINK: 'Too many links',
  EPIPE: 'Broken pipe',
  EDEADLK: 'Resource deadlock avoided',
  ENAMETOOLONG: 'File name too long',
  ENOSYS: 'Function not implemented',
  ENOTEMPTY: 'Directory not empty',
  ELOOP: 'Too many levels of symbolic links',
  EPROTO: 'Protocol error',
  EOVERFLOW: 'Value too large for defined data type',
  ENOTSOCK: 'Socket operation on non-socket',
  EDESTADDRREQ: 'Destination address required',
  EMSGSIZE: 'Message too long',
  ENOPROTOOPT: 'Protocol not available',
  EPROTONOSUPPORT: 'Protocol not supported',
  EOPNOTSUPP: 'Operation not supported',
  ENOTSUP: 'Operation not supported',
  EAFNOSUPPORT: 'Address family not supported by protocol',
  EADDRINUSE: 'Address already in use',
  EADDRNOTAVAIL: 'Cannot assign requested address',
  ENETDOWN: 'Network is down',
  ENETUNREACH: 'Network is unreachable',
  ECONNABORTED: 'Software caused connection abort',
  ECONNRESET: 'Connection reset by peer',
  ENOBUFS: 'No buffer space available',
  EISCONN: 'Transport endpoint is already connected',
  ENOTCONN: 'Transport endpoint is not connected',
  ETIMEDOUT: 'Connection timed out',
  ECONNREFUSED: 'Connection refused',
  EHOSTDOWN: 'Host is down',
  EHOSTUNREACH: 'No route to host',
  EALREADY: 'Operation already in progress',
  EINPROGRESS: 'Operation now in progress',
  ESTALE: 'Stale file handle',
  EDQUOT: 'Disk quota exceeded',
  ECANCELED: 'Operation canceled',
  EOF: 'End of file',
};

/** Of a system error or of its code (`ENOENT`); other errors say what they say. */
export function glibcErrorText(error: unknown): string {
  const code = typeof error === 'string' ? error : systemCode(error);
  const text = Object.hasOwn(texts, code) ? texts[code] : undefined;
  if (text !== undefined) return text;
  return error instanceof Error ? error.message : String(error);
}
