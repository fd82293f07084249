import type { CommandLine } from './command-line.ts';
import { flagRows } from './help.ts';

/** Flags whose values may contain credentials. */
const classified: ReadonlySet<string> = new Set(['manifest-url-header', 'storage-driver-password']);

/** The value of every flag as text, by name, as shown by `/flagz`: the given value, or else the default (KEP-4828). */
export function shownFlags({ given }: Pick<CommandLine, 'given'>): Record<string, string> {
  const rows = flagRows().map(({ name, initial }) => [name, given.get(name)?.join(',') ?? initial] as const);
  return Object.fromEntries(rows.map(([name, value]) => [name, classified.has(name) ? 'CLASSIFIED' : value]));
}
