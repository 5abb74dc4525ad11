/**
 * Command lines read as glibc's getopt_long reads them, since scripts rely on how it does: options
 * may stand behind arguments, long ones may be abbreviated, short ones may be joined, and what is
 * wrong is said in its words.
 */

export interface LongOption {
  readonly name: string;
  readonly argument: 'none' | 'required' | 'optional';
  /** The short form, one character; long options without one are told apart by name. */
  readonly short?: string;
}

export interface GivenOption {
  /** Of the long option, whichever form was used. */
  readonly name: string;
  readonly argument: string | null;
}

export interface CommandLine {
  /** In their order. */
  readonly options: readonly GivenOption[];
  /** Everything else, in its order. */
  readonly rest: readonly string[];
  /** What getopt would print when it reaches it; options behind it were not read. */
  readonly problem: string | null;
}

/**
 * `program`: how messages begin. `permute`: options are looked for behind arguments too, until
 * `--`; otherwise the first argument ends them.
 */
export function getopt(
  program: string,
  argv: readonly string[],
  longOptions: readonly LongOption[],
  permute: boolean = process.env['POSIXLY_CORRECT'] === undefined,
): CommandLine {
  const reader = new Reader(program, argv, longOptions);
  reader.readAll(permute);
  return reader;
}

class Reader implements CommandLine {
  readonly options: GivenOption[] = [];
  readonly rest: string[] = [];
  problem: string | null = null;
  readonly #program: string;
  readonly #argv: readonly string[];
  readonly #longOptions: readonly LongOption[];
  #at: number = 0;

  constructor(program: string, argv: readonly string[], longOptions: readonly LongOption[]) {
    this.#program = program;
    this.#argv = argv;
    this.#longOptions = longOptions;
  }

  readAll(permute: boolean): void {
    while (this.#at < this.#argv.length && this.problem === null) {
      const word = this.#argv[this.#at++];
      if (word === '--') break;
      if (word.startsWith('--')) this.#long(word.slice(2));
      else if (word.length > 1 && word.startsWith('-')) this.#shorts(word.slice(1));
      else {
        this.rest.push(word);
        if (!permute) break;
      }
    }
    this.rest.push(...this.#argv.slice(this.#at));
  }

  #long(word: string): void {
    const equals = word.indexOf('=');
    const name = equals === -1 ? word : word.slice(0, equals);
    const option = this.#find(name, word);
    if (option === null) return;
    const given = equals === -1 ? null : word.slice(equals + 1);
    if (given !== null && option.argument === 'none') {
      this.#refuse(`option '--${option.name}' doesn't allow an argument`);
      return;
    }
    if (given !== null || option.argument !== 'required') {
      this.options.push({ name: option.name, argument: given });
      return;
    }
    this.#takeNext(option, `option '--${option.name}' requires an argument`);
  }

  #find(name: string, word: string): LongOption | null {
    const exact = this.#longOptions.find((option) => option.name === name);
    if (exact !== undefined) return exact;
    const candidates = this.#longOptions.filter((option) => option.name.startsWith(name));
    if (candidates.length === 1) return candidates[0];
    if (candidates.length === 0) {
      this.#refuse(`unrecognized option '--${word}'`);
      return null;
    }
    const names = candidates.map((option) => ` '--${option.name}'`).join('');
    this.#refuse(`option '--${word}' is ambiguous; possibilities:${names}`);
    return null;
  }

  #shorts(letters: string): void {
    for (let i = 0; i < letters.length; i++) {
      const letter = letters[i];
      const option = this.#longOptions.find(({ short }) => short === letter);
      if (option === undefined) {
        this.#refuse(`invalid option -- '${letter}'`);
        return;
      }
      if (option.argument === 'none') {
        this.options.push({ name: option.name, argument: null });
        continue;
      }
      const joined = letters.slice(i + 1);
      if (joined !== '' || option.argument === 'optional') {
        this.options.push({ name: option.name, argument: joined === '' ? null : joined });
      } else this.#takeNext(option, `option requires an argument -- '${letter}'`);
      return;
    }
  }

  #takeNext(option: LongOption, otherwise: string): void {
    if (this.#at >= this.#argv.length) {
      this.#refuse(otherwise);
      return;
    }
    this.options.push({ name: option.name, argument: this.#argv[this.#at++] });
  }

  #refuse(problem: string): void {
    this.problem = `${this.#program}: ${problem}`;
  }
}
