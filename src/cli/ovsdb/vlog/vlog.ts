/**
 * The original's log: lines of modules at levels go to the console (standard error), to a file, or
 * nowhere; what goes where, and how it looks, is set by words that command lines and the control
 * socket share. Lines for a syslog daemon are counted and not sent.
 */
import fs from 'node:fs';
import { glibcErrorText } from '../../../io/append-file/error-text.ts';
import { byText, printError } from '../shared/program.ts';
import { moduleNames } from './modules.ts';
import { formatLine } from './pattern.ts';
import type { RateLimit } from './rate-limit.ts';

/** From silent to noisy. */
export const levels = ['OFF', 'EMER', 'ERR', 'WARN', 'INFO', 'DBG'] as const;
export type Level = (typeof levels)[number];
/** Syslog's severities of the levels. */
const severities = [1, 1, 3, 4, 5, 7];

export const destinations = ['syslog', 'console', 'file'] as const;
export type Destination = (typeof destinations)[number];

interface Module {
  readonly name: string;
  /** Index in `levels` per destination. */
  readonly levels: Record<Destination, number>;
  limited: boolean;
}

const defaultPatterns: Readonly<Record<Destination, string>> = {
  syslog: 'ovs|%05N|%c%T|%p|%m',
  console: '%D{%Y-%m-%dT%H:%M:%SZ}|%05N|%c%T|%p|%m',
  file: '%D{%Y-%m-%dT%H:%M:%S.###Z}|%05N|%c%T|%p|%m',
};

const facilities = new Map<string, number>([
  ...['kern', 'user', 'mail', 'daemon', 'auth', 'syslog', 'lpr', 'news', 'uucp', 'clock'].map(
    (name, i): [string, number] => [name, i << 3],
  ),
  ...['ftp', 'ntp', 'audit', 'alert', 'clock2'].map((name, i): [string, number] => [
    name,
    (11 + i) << 3,
  ]),
  ...[0, 1, 2, 3, 4, 5, 6, 7].map((i): [string, number] => [`local${i}`, (16 + i) << 3]),
]);

const FACILITY_DEFAULT = 16 << 3;

export class Vlog {
  readonly program: string;
  /** Shown in parentheses behind the module; empty in the program's main part. */
  subprogram: string = '';
  readonly #modules: Map<string, Module> = new Map();
  readonly #patterns: Record<Destination, string> = { ...defaultPatterns };
  readonly #startedMs: number = performance.now();
  #facility: number = FACILITY_DEFAULT;
  #number: number = 0;
  #filePath: string | null = null;
  #file: number | null = null;

  constructor(program: string) {
    this.program = program;
    for (const name of moduleNames) this.#add(name);
  }

  /** Whether a line would come out anywhere. */
  logs(module: string, level: Level): boolean {
    const { levels: set } = this.#module(module);
    const wanted = levels.indexOf(level);
    return (
      set.console >= wanted || set.syslog >= wanted || (set.file >= wanted && this.#file !== null)
    );
  }

  /** `text`: without its line end; may be put together only when somebody wants it. */
  log(module: string, level: Level, text: string | (() => string)): void {
    if (!this.logs(module, level)) return;
    const wanted = levels.indexOf(level);
    const { levels: set } = this.#module(module);
    const line = {
      program: this.program,
      subprogram: this.subprogram,
      module,
      level,
      syslogPriority: this.#facility + severities[wanted],
      number: ++this.#number,
      text: typeof text === 'string' ? text : text(),
      now: new Date(),
      elapsedMs: performance.now() - this.#startedMs,
    };
    if (set.console >= wanted) printError(`${formatLine(this.#patterns.console, line)}\n`);
    if (set.file >= wanted && this.#file !== null) {
      this.#write(`${formatLine(this.#patterns.file, line)}\n`);
    }
  }

  /** Like `log`, unless there were too many of the kind. */
  logLimited(limit: RateLimit, module: string, level: Level, text: string | (() => string)): void {
    if (!this.logs(module, level)) return;
    if (this.#module(module).limited) {
      const dropped = limit.pass(performance.now());
      if (dropped === null) return;
      if (dropped.count > 0) {
        const first = Math.floor(dropped.firstMsAgo / 1_000);
        const last = Math.floor(dropped.lastMsAgo / 1_000);
        this.log(
          module,
          level,
          `Dropped ${dropped.count} log messages in last ${first} seconds ` +
            `(most recently, ${last} seconds ago) due to excessive rate`,
        );
      }
    }
    this.log(module, level, text);
  }

  /** `null` stands for all of them. */
  setLevels(module: string | null, destination: Destination | null, level: Level): void {
    const chosen = module === null ? this.#modules.values() : [this.#module(module)];
    for (const { levels: set } of chosen) {
      for (const one of destination === null ? destinations : [destination]) {
        set[one] = levels.indexOf(level);
      }
    }
  }

  /** A word list such as `jsonrpc:file:dbg` or `PATTERN:file:%m`; what is wrong, or `null`. */
  setFromText(spec: string): string | null {
    const [first = ''] = words(spec);
    if (first.toUpperCase() === 'PATTERN') return this.#setPattern(spec);
    if (first.toUpperCase() === 'FACILITY') {
      const value = facilities.get(restAfter(spec, 1).toLowerCase());
      if (value === undefined) return 'invalid facility';
      this.#facility = value;
      return null;
    }
    let module: string | null = null;
    let destination: Destination | null = null;
    let level: Level | null = null;
    for (const word of words(spec)) {
      const lower = word.toLowerCase();
      const isDestination = destinations.find((one) => one === lower);
      const isLevel = levels.find((one) => one === word.toUpperCase());
      if (lower === 'any') continue;
      if (isDestination !== undefined) {
        if (destination !== null) return 'cannot specify multiple destinations';
        destination = isDestination;
      } else if (isLevel !== undefined) {
        if (level !== null) return 'cannot specify multiple levels';
        level = isLevel;
      } else if (this.#modules.has(lower)) {
        if (module !== null) return 'cannot specify multiple modules';
        module = lower;
      } else return `no destination, level, or module "${word}"`;
    }
    this.setLevels(module, destination, level ?? 'DBG');
    return null;
  }

  /** Whether lines of the module (`null`: of all) may be held back; false: no such module. */
  setRateLimits(module: string | null, enabled: boolean): boolean {
    if (module === null) {
      for (const one of this.#modules.values()) one.limited = enabled;
      return true;
    }
    const found = this.#modules.get(module.toLowerCase());
    if (found !== undefined) found.limited = enabled;
    return found !== undefined;
  }

  get filePath(): string | null {
    return this.#filePath;
  }

  /** Writes to this file from now on. What is wrong, or `null`. */
  openFile(path: string): string | null {
    let file: number;
    try {
      file = fs.openSync(path, 'a', 0o660);
    } catch (error) {
      const reason = glibcErrorText(error);
      this.log('vlog', 'WARN', `failed to open ${path} for logging: ${reason}`);
      return reason;
    }
    if (this.#file !== null) {
      if (isSame(this.#file, file)) {
        fs.closeSync(file);
        return null;
      }
      this.log('vlog', 'INFO', 'closing log file');
      fs.closeSync(this.#file);
    }
    this.#file = file;
    this.#filePath = path;
    this.log('vlog', 'INFO', `opened log file ${path}`);
    return null;
  }

  /** Writes to no file until it is opened again. */
  closeFile(): void {
    if (this.#file !== null) fs.closeSync(this.#file);
    this.#file = null;
  }

  /** A table for people: the levels of each module. */
  levelsTable(): string {
    const lines = [...this.#modules.values()].map(({ name, levels: set, limited }) => {
      const [console, syslog, file] = [set.console, set.syslog, set.file].map((i) =>
        levels[i].padStart(4),
      );
      const note = limited ? '' : '    (rate limiting disabled)';
      return `${name.padEnd(16)}  ${console}       ${syslog}       ${file}${note}\n`;
    });
    return [
      '                 console    syslog    file\n',
      '                 -------    ------    ------\n',
      ...lines.sort(byText),
    ].join('');
  }

  patternsTable(): string {
    const lines = destinations.map((name) => {
      const prefix = name === 'syslog' ? '<%B> %D{%h %e %T} %E %A:' : 'none';
      return `${name.toUpperCase().padEnd(7)}  ${prefix.padEnd(32)}  ${this.#patterns[name]}\n`;
    });
    return [
      '         prefix                            format\n',
      '         ------                            ------\n',
      ...lines,
    ].join('');
  }

  #setPattern(spec: string): string | null {
    const word = words(spec)[1];
    if (word === undefined) return 'missing destination';
    const lower = word.toLowerCase();
    const destination = destinations.find((one) => one === lower);
    if (destination === undefined && lower !== 'any') return `unknown destination "${word}"`;
    const pattern = restAfter(spec, 2);
    for (const one of destination === undefined ? destinations : [destination]) {
      this.#patterns[one] = pattern;
    }
    return null;
  }

  #add(name: string): Module {
    const info = levels.indexOf('INFO');
    const module = { name, levels: { syslog: info, console: info, file: info }, limited: true };
    this.#modules.set(name, module);
    return module;
  }

  #module(name: string): Module {
    return this.#modules.get(name) ?? this.#add(name);
  }

  #write(text: string): void {
    try {
      fs.writeSync(this.#file as number, text);
    } catch {
      // A full disk must not stop the program, and there is nowhere to say it.
    }
  }
}

function words(spec: string): string[] {
  return spec.split(/[ ,:\t]+/).filter((word) => word !== '');
}

/** What follows the first `count` words and one separator. */
function restAfter(spec: string, count: number): string {
  const pattern = new RegExp(`^(?:[ ,:\\t]*[^ ,:\\t]+){${count}}[ ,:\\t]?`);
  return spec.replace(pattern, '');
}

function isSame(a: number, b: number): boolean {
  const one = fs.fstatSync(a);
  const other = fs.fstatSync(b);
  return one.dev === other.dev && one.ino === other.ino;
}
