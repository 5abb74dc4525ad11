/**
 * How a log line looks: patterns with `%` conversions, each with optional `-` (left), `0` (zeros)
 * and a width, as in `%D{%Y-%m-%dT%H:%M:%S.###Z}|%05N|%c%T|%p|%m`.
 */
import { hostname } from 'node:os';

export interface LogLine {
  readonly program: string;
  /** Of the process's part, such as `monitor`; usually empty. */
  readonly subprogram: string;
  readonly module: string;
  readonly level: string;
  /** The number that a syslog daemon takes. */
  readonly syslogPriority: number;
  /** 1-based. */
  readonly number: number;
  readonly text: string;
  /** Wall clock. */
  readonly now: Date;
  /** Since the program started. */
  readonly elapsedMs: number;
}

const DATE_DEFAULT = '%Y-%m-%d %H:%M:%S.###';

/** The line without its end. */
export function formatLine(pattern: string, line: LogLine): string {
  return pattern.replace(
    /%(-?)(0?)(\d*)(?:([cdD])(?:\{([^}]*)\}?)?|([\s\S]?))/g,
    (_, left: string, zero: string, width: string, braced, inner, plain) => {
      const text = convert(braced ?? plain ?? '', inner, line);
      const size = Number(width);
      if (text.length >= size) return text;
      if (left !== '') return text.padEnd(size, zero === '' ? ' ' : '0');
      return text.padStart(size, zero === '' ? ' ' : '0');
    },
  );
}

function convert(letter: string, inner: string | undefined, line: LogLine): string {
  switch (letter) {
    case 'A':
      return line.program;
    case 'B':
      return String(line.syslogPriority);
    case 'c':
      return line.module;
    case 'd':
      return formatTime(inner ?? DATE_DEFAULT, line.now, false);
    case 'D':
      return formatTime(inner ?? DATE_DEFAULT, line.now, true);
    case 'E':
      return hostname();
    case 'm':
      return line.text.replace(/\n+$/, '');
    case 'N':
      return String(line.number);
    case 'n':
      return '\n';
    case 'p':
      return line.level;
    case 'P':
      return String(process.pid);
    case 'r':
      return String(Math.round(line.elapsedMs));
    case 't':
      return line.subprogram === '' ? 'main' : line.subprogram;
    case 'T':
      return line.subprogram === '' ? '' : `(${line.subprogram})`;
    default:
      return letter;
  }
}

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const months = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July'],
  ...['August', 'September', 'October', 'November', 'December'],
];

/** The conversions of strftime that make sense in a log; `###` are the milliseconds. */
export function formatTime(format: string, now: Date, utc: boolean): string {
  const t = utc ? now : new Date(now.getTime() - now.getTimezoneOffset() * 60_000);
  const two = (n: number): string => String(n).padStart(2, '0');
  const part = (letter: string): string => {
    switch (letter) {
      case 'Y':
        return String(t.getUTCFullYear());
      case 'y':
        return two(t.getUTCFullYear() % 100);
      case 'm':
        return two(t.getUTCMonth() + 1);
      case 'd':
        return two(t.getUTCDate());
      case 'e':
        return String(t.getUTCDate()).padStart(2, ' ');
      case 'H':
        return two(t.getUTCHours());
      case 'I':
        return two(t.getUTCHours() % 12 || 12);
      case 'M':
        return two(t.getUTCMinutes());
      case 'S':
        return two(t.getUTCSeconds());
      case 'p':
        return t.getUTCHours() < 12 ? 'AM' : 'PM';
      case 'a':
        return weekdays[t.getUTCDay()].slice(0, 3);
      case 'A':
        return weekdays[t.getUTCDay()];
      case 'b':
      case 'h':
        return months[t.getUTCMonth()].slice(0, 3);
      case 'B':
        return months[t.getUTCMonth()];
      case 'F':
        return `${t.getUTCFullYear()}-${two(t.getUTCMonth() + 1)}-${two(t.getUTCDate())}`;
      case 'T':
        return `${two(t.getUTCHours())}:${two(t.getUTCMinutes())}:${two(t.getUTCSeconds())}`;
      case 's':
        return String(Math.floor(now.getTime() / 1_000));
      case '%':
        return '%';
      default:
        return `%${letter}`;
    }
  };
  return format
    .replace(/%([\s\S])/g, (_, letter: string) => part(letter))
    .replace(/#+/g, (run) => String(t.getUTCMilliseconds()).padStart(3, '0').slice(0, run.length));
}
