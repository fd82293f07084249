import { escapeControls } from './output.ts';

/** Rows of text in columns, three blanks apart, as kubectl prints them. A cell is one line: controls in it are escaped. */
export function formatTable(header: readonly string[], given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map(cell));
  const widths = header.map((title, index) => Math.max(title.length, ...rows.map((row) => (row[index] ?? '').length)));
  return [header, ...rows].map((row) => padRow(row, widths)).join('\n');
}

/** One row, its cells padded to these widths. */
export function padRow(given: readonly string[], widths: readonly number[]): string {
  return given
    .map(cell)
    .map((text, index) => (index === given.length - 1 ? text : text.padEnd(widths[index] ?? 0)))
    .join('   ')
    .trimEnd();
}

/** Text as a part of a description. */
export function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}

function cell(text: string): string {
  return escapeControls(text.replaceAll('\n', '\\n').replaceAll('\t', '\\t'));
}
