/**
 * What one difference is to monitors, written once: monitors of equal conditions share the text of
 * all updates, those of different ones the text of rows, and those with the same id whole messages.
 */
import { type Conditions, kindOf } from './conditions.ts';
import type { Difference, DifferentRow } from './difference.ts';
import { MESSAGES_KEPT_MAX } from './limits.ts';
import { type Address, notification } from './notification.ts';
import type { Format } from './row-updates.ts';
import type { ShapeTable } from './shape-table.ts';
import { UpdatesText } from './updates-text.ts';

export class Rendering {
  readonly #difference: Difference<ShapeTable>;
  readonly #bodies: Map<string, Body> = new Map();
  readonly #rows: RowTexts = new RowTexts();

  constructor(difference: Difference<ShapeTable>) {
    this.#difference = difference;
  }

  get difference(): Difference<ShapeTable> {
    return this.#difference;
  }

  /** `null` text: nothing in it for such monitors. */
  body(format: Format, conditions: Conditions): Body {
    const key = `${format} ${conditions.key}`;
    let body = this.#bodies.get(key);
    if (body === undefined) {
      body = new Body(this.#write(format, conditions));
      this.#bodies.set(key, body);
    }
    return body;
  }

  #write(format: Format, conditions: Conditions): string | null {
    const text = new UpdatesText();
    for (const [table, rows] of this.#difference.tables) {
      const condition = conditions.of(table);
      for (const [uuid, row] of rows) {
        const { before, after } = row;
        const kind = kindOf(before, after, condition, condition);
        if (kind === null) continue;
        // Without a condition nobody else will need the row's text.
        const update =
          kind === 'delete' || condition.everything
            ? table.updates.text(format, kind, before, after)
            : this.#rows.text(table, kind, row);
        text.row(uuid, update);
      }
      text.table(table.name);
    }
    return text.finish();
  }
}

/** Updates as text, and the messages that carry them. */
export class Body {
  readonly text: string | null;
  readonly #messages: Map<string, string> = new Map();

  constructor(text: string | null) {
    this.text = text;
  }

  message(to: Address, lastTxnId: string): string | null {
    if (this.text === null) return null;
    const key = `${to.version} ${lastTxnId} ${to.idText}`;
    let message = this.#messages.get(key);
    if (message === undefined) {
      message = notification(to, lastTxnId, this.text);
      if (this.#messages.size < MESSAGES_KEPT_MAX) this.#messages.set(key, message);
    }
    return message;
  }
}

/** Row updates that monitors of several conditions may need: none of them is of "monitor". */
class RowTexts {
  readonly #texts: {
    readonly [kind in 'insert' | 'modify']: Map<DifferentRow, string | null>;
  } = { insert: new Map(), modify: new Map() };

  text(table: ShapeTable, kind: 'insert' | 'modify', row: DifferentRow): string | null {
    let text = this.#texts[kind].get(row);
    if (text === undefined) {
      text = table.updates.text(2, kind, row.before, row.after);
      this.#texts[kind].set(row, text);
    }
    return text;
  }
}
