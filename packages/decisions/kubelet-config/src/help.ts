import { formatGoDuration } from '@kubus/pod';
import type { Field } from './field.ts';
import { configFlags, kubusFlagTable, lastingFlags, otherFlags } from './flag-table.ts';
import { duration } from './kinds.ts';
import { fieldsByPath } from './values.ts';

/** One flag in the help text. */
export interface FlagRow {
  readonly name: string;
  /** The type of its value. */
  readonly type: string;
  /** The default; empty: none. */
  readonly initial: string;
  /** The field that it sets, if any. */
  readonly field: string | undefined;
  readonly deprecated: boolean;
  /** What Kubus does with it. */
  readonly does: string;
}

/** All flags, sorted by name. */
export function flagRows(): FlagRow[] {
  const own = [...otherFlags].map(([name, field]) => ({ ...row(name, field), field: undefined, deprecated: false }));
  const ofFields = Object.entries(configFlags).flatMap(([name, path]) => {
    const field = fieldsByPath.get(path);
    return field ? [{ ...row(name, field), field: path, deprecated: !lastingFlags.has(name) }] : [];
  });
  return [...own, ...ofFields].sort((one, other) => (one.name < other.name ? -1 : 1));
}

function row(name: string, field: Field<unknown>): Pick<FlagRow, 'name' | 'type' | 'initial' | 'does'> {
  return { name, type: field.kind.name, initial: initialText(field), does: supportText(field) };
}

/** A default in the form of a command line or a file. */
export function initialText({ kind, default: initial }: Pick<Field<unknown>, 'kind' | 'default'>): string {
  if (initial === undefined) return '';
  if (kind === duration) return formatGoDuration(Number(initial));
  if (typeof initial === 'string') return initial;
  return kind.isZero(initial) && typeof initial === 'object' ? '' : JSON.stringify(initial);
}

/** What Kubus does with a setting, in a few words. */
export function supportText({ support }: Pick<Field<unknown>, 'support'>): string {
  if (support.does === 'refused') return `only the default: ${support.why}`;
  const note = support.does === 'no effect yet' ? support.note : undefined;
  return note === undefined ? support.does : `${support.does}: ${note}`;
}

/** The text of `--help`. */
export function helpText(): string {
  const lines = flagRows().map(({ name, type, initial, field, does }) => {
    const short = name === 'help' ? '-h, ' : name === 'v' ? '-v, ' : '    ';
    const start = `  ${short}--${name} ${type === 'bool' ? '' : type}`;
    const about = [
      field === undefined ? (Object.hasOwn(kubusFlagTable, name) ? 'Kubus only' : '') : `sets ${field}`,
      initial === '' ? '' : `default ${initial}`,
      does === 'honoured' ? '' : does,
    ];
    return `${start.padEnd(54)} ${about.filter((part) => part !== '').join('; ')}`.trimEnd();
  });
  return `Runs Kubus instead of the kubelet: with its flags, its configuration and its container runtime.

Usage:
  kubus kubelet [flags]

Flags:
${lines.join('\n')}
`;
}
