import type { Versions } from './cgroup-tree.ts';
import type { Check } from './checks.ts';

/** The result of one group. */
export interface GroupResult {
  readonly group: string;
  /** ISO date. */
  readonly date: string;
  /** Undefined when the group ended before they were read. */
  readonly versions: Versions | undefined;
  readonly checks: readonly Check[];
}

const BEGIN = '<!-- results: written by ./kubus test --machine --write -->';
const END = '<!-- end of results -->';

const HEAD = [
  '| group | date | distribution | kernel | cgroup | driver | systemd | containerd | runc | nats-server | result | not yet |',
  '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
];

/**
 * The document with the rows of these results in its matrix, in place of earlier rows of the same groups; other rows stay.
 *
 * @throws Error when the document has no place for them.
 */
export function withResults(document: string, results: readonly GroupResult[]): string {
  const [before, rest] = split(document, BEGIN);
  const [table, after] = split(rest, END);
  const rows = new Map<string, string>();
  for (const line of table.split('\n').filter((text) => text.startsWith('| `'))) rows.set(groupOf(line), line);
  for (const result of results) rows.set(result.group, rowOf(result));
  const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  return `${before}${BEGIN}\n\n${[...HEAD, ...sorted].join('\n')}\n\n${END}${after}`;
}

function split(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  if (at === -1) throw new Error(`the document lacks the line ${mark}`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}

function groupOf(row: string): string {
  return /^\| `([^`]+)`/.exec(row)?.[1] ?? '';
}

function rowOf({ group, date, versions, checks }: GroupResult): string {
  const failed = checks.filter(({ failure }) => failure !== undefined);
  const passed = `${checks.length - failed.length} of ${checks.length}`;
  const { distribution, kernel, cgroup, driver, systemd, containerd, runc, nats } = versions ?? unknown;
  const cells = [
    ...[`\`${group}\``, date, distribution, kernel, cgroup, driver, systemd, containerd, runc, nats, passed],
    failed.map(({ what }) => what).join('; '),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

const unknown: Versions = {
  distribution: '?',
  kernel: '?',
  cgroup: '?',
  driver: '?',
  containerd: '?',
  runc: '?',
  nats: '?',
  systemd: '?',
};
