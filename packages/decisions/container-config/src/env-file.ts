import { KubusError } from '@kubus/ports';

/** Thrown when a text is not an env file; the message contains the line number. */
export class EnvFileError extends KubusError {}

const SKIPPED = /[ \t]*(?:#.*)?(?:\n|$)/y;
const NAME = /[ \t]*([^=\n]*)=/y;
const VALUE = /'([^']*)'/y;
const REST = /.*(?:\n|$)/y;

/**
 * The value of a key in an env file (KEP-3721): lines of `KEY='value'`, where a value may span several lines and
 * is not expanded, empty lines, and comments. Undefined when the key does not exist or its value is empty.
 *
 * Throws {@link EnvFileError} when a line up to that of the key is invalid.
 */
export function envFileValue(text: string, key: string): string | undefined {
  const lines = text.replaceAll('\r\n', '\n');
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(lines) ?? undefined;
    at += found?.[0].length ?? 0;
    return found;
  };
  const refuse = (what: string): never => {
    const line = lines.slice(0, at).split('\n').length;
    throw new EnvFileError('env-file', `line ${line}: ${what}`, { context: { line } });
  };
  while (at < lines.length) {
    if (take(SKIPPED) !== undefined) continue;
    const name = take(NAME)?.[1] ?? refuse('there is no "="');
    if (name === '') refuse('the name is empty');
    if (/[ \t]$/.test(name)) refuse('there is a space before "="');
    // As in a shell: nothing is assigned, and the rest of the line is something else.
    const isEmpty = /[ \t]/.test(lines.charAt(at));
    const value = isEmpty ? '' : (take(VALUE)?.[1] ?? refuse('the value is not in single quotes'));
    if (name === key) return value === '' ? undefined : value;
    if (isEmpty) take(REST);
    else if (take(SKIPPED) === undefined) refuse('something follows the closing quote');
  }
  return undefined;
}
