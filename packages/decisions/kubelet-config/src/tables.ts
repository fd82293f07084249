import { gateTable } from './gate-table.ts';
import { flagRows, initialText, supportText } from './help.ts';
import { fieldsByPath } from './values.ts';

/** One setting in the documentation. */
interface TableRow {
  readonly name: string;
  readonly type: string;
  readonly initial: string;
  readonly does: string;
}

/** Every field of the configuration. */
function fieldRows(): TableRow[] {
  return [...fieldsByPath].map(([name, field]) => ({
    name,
    type: field.kind.name,
    initial: initialText(field),
    does: supportText(field),
  }));
}

/** Every feature gate, by name. */
function gateRows(): TableRow[] {
  return [...gateTable]
    .map(([name, gate]) => ({
      name,
      type: gate.locked ? `${gate.stage}, locked` : gate.stage,
      initial: String(gate.default),
      does: supportText(gate),
    }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Everything that can be set, as in the tables of docs/kubelet.md. */
export function settingsTables(): string {
  const flags = flagRows().filter(({ field }) => field === undefined);
  const ofFields = new Map(flagRows().map(({ field, name }) => [field, name]));
  return [
    '## Fields of the configuration',
    table(
      ['field', 'flag', 'type', 'default', 'what Kubus does'],
      fieldRows().map(({ name, type, initial, does }) => {
        const flag = ofFields.get(name);
        return [code(name), flag === undefined ? '' : code(`--${flag}`), type, code(initial), does];
      }),
    ),
    '## Flags that do not set a field',
    table(
      ['flag', 'type', 'default', 'what Kubus does'],
      flags.map(({ name, type, initial, does }) => [code(`--${name}`), type, code(initial), does]),
    ),
    '## Feature gates',
    table(
      ['gates', 'stage', 'default', 'if set to another value'],
      [...Map.groupBy(gateRows(), ({ type, initial, does }) => [type, initial, does].join(' | '))].map(
        ([rest, gates]) => [gates.map(({ name }) => code(name)).join(' '), rest],
      ),
    ),
  ].join('\n\n');
}

function code(text: string): string {
  return text === '' ? '' : `\`${text}\``;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
