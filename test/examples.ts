/** What each example prints; lines that come from different replicas may change places. */
export interface Example {
  readonly file: string;
  readonly argument: string;
  readonly output: readonly string[];
}

export const EXAMPLES: readonly Example[] = [
  { file: 'counter.ts', argument: 'vsr', output: ['total 42'] },
  { file: 'counter.ts', argument: 'raft', output: ['total 42'] },
  {
    file: 'lock-service.ts',
    argument: '',
    output: ['a has token 1, b was told 0, then got token 2'],
  },
  {
    file: 'key-value-watch.ts',
    argument: '',
    output: [
      'replica 2 sees theme = light',
      'too late: false',
      'replica 2 sees theme = dark',
      'theme is dark',
    ],
  },
  { file: 'job-queue.ts', argument: '', output: ['sow,water for me, reap for you'] },
];
