/** A progress bar where a terminal watches, and nothing at all where none does. */

export interface Progress {
  update(done: number): void;
  /** A line above the bar, on standard output. */
  print(line: string): void;
  stop(): void;
}

/** Redraws at most this often, per second. */
const FPS = 10;

/** A bar on standard error for `total` of `what`. The library is loaded only if it is drawn. */
export async function openProgress(what: string, total: number): Promise<Progress> {
  if (!process.stderr.isTTY) {
    return { update: () => {}, print: (line) => console.log(line), stop: () => {} };
  }
  const { default: progress } = await import('cli-progress');
  const bar = new progress.SingleBar({
    stream: process.stderr,
    format: `{bar} {percentage}% {value} of {total} ${what}, {eta} s left`,
    fps: FPS,
    clearOnComplete: true,
    hideCursor: true,
    barsize: 30,
  });
  bar.start(total, 0);
  return {
    update: (done) => bar.update(done),
    // With both streams on one terminal the bar would be cut in two.
    print: (line) => {
      if (process.stdout.isTTY) process.stderr.write('\r\u001b[K');
      console.log(line);
    },
    stop: () => bar.stop(),
  };
}
