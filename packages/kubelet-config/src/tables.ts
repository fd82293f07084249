import { gateTable } from './gate-table.ts';
import { initialText, supportText } from './help.ts';
import { fieldsByPath } from './values.ts';

/** One setting as the documentation shows it. */
export interface TableRow {
  readonly name: string;
  readonly type: string;
  readonly initial: string;
  readonly does: string;
}

/** Every field of the configuration. */
export function fieldRows(): TableRow[] {
  return [...fieldsByPath].map(([name, field]) => ({
    name,
    type: field.kind.name,
    initial: initialText(field),
    does: supportText(field),
  }));
}

/** Every feature gate, by name. */
export function gateRows(): TableRow[] {
  return [...gateTable]
    .map(([name, gate]) => ({
      name,
      type: gate.locked ? `${gate.stage}, locked` : gate.stage,
      initial: String(gate.default),
      does: supportText(gate),
    }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}
