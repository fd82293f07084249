import { Option } from 'commander';
import { stringify } from 'yaml';

/** `apiVersion` of the documents that only Kubus has: docs/commands.md. */
export const DOCUMENTS = 'kubus.dev/v1';

export type OutputFormat = 'json' | 'yaml' | 'wide';

/** The option `--output`; default: text for people. */
export function outputOption(formats: readonly OutputFormat[] = ['json', 'yaml']): Option {
  return new Option('-o, --output <format>', 'output format').choices(formats);
}

/**
 * Characters that a terminal obeys instead of showing them, except line ends and tabs: controls (C0, C1, DEL), and those
 * that change the direction of writing.
 */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * The text with every control as `\uXXXX`: what pods write into messages, names and logs never reaches the terminal as a
 * command. JSON remains the same document, because it contains such characters only within strings, where this is their escape.
 */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Prints lines to standard output, controls escaped. */
export function print(text: string): void {
  // oxlint-disable-next-line no-console -- the one place
  console.log(escapeControls(text));
}

/** Prints text without a line end, controls escaped. */
export function printText(text: string): void {
  process.stdout.write(escapeControls(text));
}

/** Prints lines to standard error, controls escaped. */
export function printError(text: string): void {
  // oxlint-disable-next-line no-console -- the one place
  console.error(escapeControls(text));
}

/** Prints a document as JSON or YAML. */
export function printDocument(document: unknown, format: 'json' | 'yaml'): void {
  print(format === 'json' ? JSON.stringify(document, undefined, 2) : yaml(document).replace(/\n$/, ''));
}

/** An escaped control is the same value only within double quotes. */
function yaml(document: unknown): string {
  const text = stringify(document);
  return text === escapeControls(text)
    ? text
    : stringify(document, { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'QUOTE_DOUBLE', blockQuote: false });
}
