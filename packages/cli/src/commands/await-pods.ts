import { desiredPods } from '@kubus/contracts';
import type { Command } from 'commander';
import { connectNode } from '../node-link.ts';
import { type PodView, Pods } from '../pods.ts';
import { formatTable } from '../table.ts';
import { podTable } from './get.ts';

/** How long the pods may take, in milliseconds; then the table is left as it is. */
const LIMIT_MS = 60_000;

/** What `up` shows while the pods start: a table that follows their changes. */
export function addAwaitPods(program: Command): void {
  program.command('await-pods', { hidden: true }).action(async (_options: object, command: Command) => {
    const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
    const { promise: settled, resolve } = Promise.withResolvers<boolean>();
    let shown: string[] = [];
    const wanted = new Set<string>();
    let complete = false;
    const onChange = { look: () => undefined as unknown };
    const pods = await Pods.read(link, () => onChange.look());
    const look = () => {
      const list = pods.list(undefined);
      shown = show(list, shown, link.bus.node);
      if (complete && [...wanted].every((uid) => isSettled(pods.get(uid)))) resolve(true);
    };
    onChange.look = look;
    await link.facts(desiredPods.file, {
      changed: ({ key }) => {
        wanted.add(key);
      },
      complete: () => {
        complete = true;
        look();
      },
    });
    setTimeout(() => resolve(false), LIMIT_MS);
    look();
    if (!(await settled)) {
      console.log('\nNot every pod runs yet; "./kubus describe pod NAME" tells why.');
      process.exitCode = 1;
    }
  });
}

function isSettled(pod: PodView | undefined): boolean {
  const phase = pod?.status?.phase;
  if (phase === 'Succeeded' || phase === 'Failed') return true;
  return phase === 'Running' && pod?.status?.containerStatuses?.every(({ ready }) => ready) === true;
}

/** On a terminal the table stays in its place; elsewhere each changed row is a line. Returns the lines shown. */
function show(list: readonly PodView[], before: readonly string[], node: string): string[] {
  const { header, rows } = podTable(list, { wide: false, all: true, node });
  if (rows.length === 0) return [];
  const lines = formatTable(header, rows).split('\n');
  if (process.stdout.isTTY) {
    if (before.length > 0) process.stdout.write(`\u001b[${before.length}A`);
    for (const line of lines) process.stdout.write(`\u001b[2K${line}\n`);
    return lines;
  }
  const known = new Set(before.map(withoutAge));
  for (const line of lines) if (!known.has(withoutAge(line))) console.log(line);
  return lines;
}

function withoutAge(line: string): string {
  return line
    .trim()
    .split(/\s{2,}/)
    .slice(0, -1)
    .join(' ');
}
