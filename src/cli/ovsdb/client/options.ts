/** The options of ovsdb-client, and what they come to. */
import {
  type DaemonSettings,
  daemonOptions,
  foreground,
  takeDaemonOption,
} from '../shared/daemon-options.ts';
import type { GivenOption, LongOption } from '../shared/getopt.ts';
import { parseSeconds } from '../shared/timeout.ts';
import { takeTlsOption, tlsOptions, withoutTls } from '../shared/tls-options.ts';
import { readProtocols } from '../shared/tls-protocols.ts';
import { takeVlogOption, vlogOptions } from '../shared/vlog-options.ts';
import type { Vlog } from '../vlog/vlog.ts';
import type { ClientOptions } from './context.ts';
import { fatal, PROGRAM } from './fatal.ts';
import { sortedMembers } from './format/json-text.ts';
import type { TableFormat, TableStyle } from './format/table.ts';
import type { CellFormat } from './format/table-cell.ts';

/** In the original's order, which the message about an ambiguous option shows. */
export const longOptions: readonly LongOption[] = [
  { name: 'help', argument: 'none', short: 'h' },
  { name: 'version', argument: 'none', short: 'V' },
  { name: 'timestamp', argument: 'none' },
  { name: 'force', argument: 'none' },
  { name: 'timeout', argument: 'required', short: 't' },
  { name: 'db-change-aware', argument: 'none' },
  { name: 'no-db-change-aware', argument: 'none' },
  { name: 'leader-only', argument: 'none' },
  { name: 'no-leader-only', argument: 'none' },
  ...vlogOptions,
  ...daemonOptions,
  ...tlsOptions.filter(({ name }) => name !== 'peer-ca-cert'),
  { name: 'format', argument: 'required', short: 'f' },
  { name: 'data', argument: 'required', short: 'd' },
  { name: 'no-headings', argument: 'none' },
  { name: 'pretty', argument: 'none' },
  { name: 'bare', argument: 'none' },
  { name: 'max-column-width', argument: 'required' },
];

const tableFormats: readonly TableFormat[] = ['table', 'list', 'html', 'csv', 'json'];
const cellFormats: readonly CellFormat[] = ['string', 'bare', 'json'];

type Writable<T> = { -readonly [member in keyof T]: T[member] };

export class OptionReader {
  readonly #vlog: Vlog;
  readonly style: TableStyle = {
    format: 'table',
    cells: 'string',
    headings: true,
    json: { order: sortedMembers, pretty: false },
    columnWidthMax: 0,
  };
  readonly daemon: DaemonSettings = foreground();
  readonly options: Writable<ClientOptions>;
  timeoutSeconds: number | null = null;

  constructor(vlog: Vlog) {
    this.#vlog = vlog;
    this.options = {
      style: this.style,
      timestamp: false,
      force: false,
      leaderOnly: true,
      dbChangeAware: 'if available',
      tls: withoutTls(),
    };
  }

  /** Everything but help and version. */
  take(option: GivenOption): void {
    if (takeVlogOption(this.#vlog, option)) return;
    if (takeDaemonOption(PROGRAM, this.daemon, option)) return;
    if (takeTlsOption(this.options.tls, option)) {
      if (option.name === 'ssl-protocols') this.#checkProtocols();
      return;
    }
    if (this.#takeStyle(option.name, option.argument ?? '')) return;
    this.#takeOther(option.name, option.argument ?? '');
  }

  #checkProtocols(): void {
    const { protocols, lines } = readProtocols(this.options.tls.protocols);
    for (const { level, text } of lines) this.#vlog.log('stream_ssl', level, text);
    this.options.tls.protocols = protocols;
  }

  #takeStyle(name: string, argument: string): boolean {
    const { style } = this;
    switch (name) {
      case 'format': {
        const format = tableFormats.find((one) => one === argument);
        style.format = format ?? fatal(`unknown output format "${argument}"`);
        return true;
      }
      case 'data': {
        const cells = cellFormats.find((one) => one === argument);
        style.cells = cells ?? fatal(`unknown data format "${argument}"`);
        return true;
      }
      case 'no-headings':
        style.headings = false;
        return true;
      case 'pretty':
        style.json = { ...style.json, pretty: true };
        return true;
      case 'bare':
        style.format = 'list';
        style.cells = 'bare';
        style.headings = false;
        return true;
      case 'max-column-width':
        style.columnWidthMax = Number.parseInt(argument, 10) || 0;
        return true;
      default:
        return false;
    }
  }

  #takeOther(name: string, argument: string): void {
    const { options } = this;
    switch (name) {
      case 'timestamp':
        options.timestamp = true;
        break;
      case 'force':
        options.force = true;
        break;
      case 'db-change-aware':
        options.dbChangeAware = 'required';
        break;
      case 'no-db-change-aware':
        options.dbChangeAware = 'never';
        break;
      case 'leader-only':
      case 'no-leader-only':
        options.leaderOnly = name === 'leader-only';
        break;
      case 'timeout':
        this.timeoutSeconds =
          parseSeconds(argument) ?? fatal(`value ${argument} on -t or --timeout is invalid`);
        break;
    }
  }
}
