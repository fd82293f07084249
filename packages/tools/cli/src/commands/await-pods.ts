import { desiredPods } from '@kubus/contracts';
import type { Command } from 'commander';
import { connectNode } from '../node/node-link.ts';
import { type PodView, Pods } from '../pods/pods.ts';
import { ObjectTable } from '../output/object-printer.ts';
import { escapeControls, print, printError } from '../output/output.ts';
import { podItem, pods as podType } from '../resources/pods.ts';

/** How long `up` waits for the pods, in milliseconds. */
const LIMIT_MS = 60_000;

/** The hidden command `await-pods`: the table of pods that `up` shows while they start. Exit code 1 when a pod is not running in time. */
export function addAwaitPods(program: Command): void {
  program.command('await-pods', { hidden: true }).action(async (_options: object, command: Command) => {
    const { node } = command.optsWithGlobals<{ node: string }>();
    const link = await connectNode(node);
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
      const why = `./kubus${node === 'node0' ? '' : ` --node ${node}`} why NAME`;
      printError(`kubus: not every pod is running after ${LIMIT_MS / 1000} s: "${why}" says what one waits for`);
      process.exitCode = 1;
    }
  });
}

function isSettled(pod: PodView | undefined): boolean {
  const phase = pod?.status?.phase;
  if (phase === 'Succeeded' || phase === 'Failed') return true;
  return phase === 'Running' && pod?.status?.containerStatuses?.every(({ ready }) => ready) === true;
}

/** On a terminal the table is redrawn in place; elsewhere each changed row is printed as a line. Returns the lines shown. */
function show(list: readonly PodView[], before: readonly string[], node: string): string[] {
  if (list.length === 0) return [];
  const table = new ObjectTable(podType, { format: undefined, withNamespace: true });
  const lines = table
    .table(
      list.map((pod) => podItem(pod, node)),
      Date.now(),
    )
    .split('\n');
  if (process.stdout.isTTY && process.env['TERM'] !== 'dumb') {
    if (before.length > 0) process.stdout.write(`\u001b[${before.length}A`);
    for (const line of lines) process.stdout.write(`\u001b[2K${escapeControls(line)}\n`);
    return lines;
  }
  const known = new Set(before.map(withoutAge));
  for (const line of lines) if (!known.has(withoutAge(line))) print(line);
  return lines;
}

function withoutAge(line: string): string {
  return line
    .trim()
    .split(/\s{2,}/)
    .slice(0, -1)
    .join(' ')
    .replace(/ \(\S+ ago\)/, '');
}
