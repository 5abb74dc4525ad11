/**
 * Tables as HTML. A UUID anywhere in a cell becomes a link to the row that has it, shown by its
 * first eight digits; a row's own UUID is what such links lead to.
 */

const UUID_LENGTH = 36;
const UUID_SHOWN = 8;
const uuidHere = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/iy;

/** `shown`: the headings to print, `null`: none. */
export function htmlTable(
  caption: string | null,
  shown: readonly string[] | null,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  let html = '<table border=1>\n';
  if (caption !== null) html += cell('caption', caption);
  if (shown !== null) html += row(shown.map((heading) => cell('th', heading)));
  for (const texts of rows) {
    html += row(
      texts.map((text, x) => (headings[x] === '_uuid' ? anchor(text) : cell('td', text))),
    );
  }
  return `${html}</table>\n`;
}

function row(cells: readonly string[]): string {
  return `  <tr>\n${cells.join('')}  </tr>\n`;
}

function anchor(text: string): string {
  const name = escapeHtml(text);
  return `    <td><a name="${name}">${escapeHtml(text.slice(0, UUID_SHOWN))}</a></td>\n`;
}

function cell(element: string, text: string): string {
  let html = '';
  for (let at = 0; at < text.length; ) {
    uuidHere.lastIndex = at;
    if (uuidHere.test(text)) {
      const uuid = text.slice(at, at + UUID_LENGTH);
      html += `<a href="#${uuid}">${uuid.slice(0, UUID_SHOWN)}</a>`;
      at += UUID_LENGTH;
    } else {
      html += escapeHtml(text.charAt(at));
      at += 1;
    }
  }
  return `    <${element}>${html}</${element}>\n`;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
