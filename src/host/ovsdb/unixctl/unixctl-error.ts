/** A command on the control socket that was refused: the text goes to whoever sent it. */
export class UnixctlError extends Error {
  readonly code: string = 'ERR_UNIXCTL';
}
