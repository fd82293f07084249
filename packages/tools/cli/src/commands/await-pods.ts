import { desiredPods, serviceInstance } from '@kubus/contracts';
import { hasErrno } from '@kubus/ports';
import type { Command } from 'commander';
import { kubusCommand } from '../node/kubus-command.ts';
import { type NodeLink, connectNode } from '../node/node-link.ts';
import { type PodView, Pods } from '../pods/pods.ts';
import { ObjectTable } from '../output/object-printer.ts';
import { escapeControls, print, printError } from '../output/output.ts';
import { podItem, pods as podType } from '../resources/pods.ts';

/** How long `up` waits for the pods, and for the node's Kubernetes API, in milliseconds. */
const LIMIT_MS = 60_000;

/**
 * The hidden command `await-pods`: the table of pods that `up` shows while they start. With `--api` it also waits until the node's Kubernetes API
 * serves: what comes after `up` may be kubectl. Exit code 1 when a pod is not running in time, or the API does not serve.
 */
export function addAwaitPods(program: Command): void {
  const command = program.command('await-pods', { hidden: true }).option('--api');
  command.action(async ({ api }: { api?: true }, command: Command) => {
    const { node } = command.optsWithGlobals<{ node: string }>();
    const link = await connectNode(node);
    const serving = api === true ? serves(link) : Promise.resolve(true);
    const { promise: settled, resolve } = Promise.withResolvers<true>();
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
    const limit = new Promise<false>((ended) => setTimeout(() => ended(false), LIMIT_MS));
    look();
    const kubus = kubusCommand(node);
    if (!(await Promise.race([settled, limit]))) {
      printError(
        `kubus: not every pod is running after ${LIMIT_MS / 1000} s: "${kubus} why NAME" says what one waits for`,
      );
      process.exitCode = 1;
    }
    if (!(await Promise.race([serving, limit]))) {
      printError(`kubus: the Kubernetes API does not serve after ${LIMIT_MS / 1000} s: "${kubus} status" says why`);
      process.exitCode = 1;
    }
  });
}

/** Resolves when the service of the API has said that it runs; one that was killed has said so, too. */
async function serves(link: NodeLink): Promise<true> {
  const { promise, resolve } = Promise.withResolvers<true>();
  await link.facts(serviceInstance, {
    changed: ({ value }) => {
      if (value.service === 'kube-api' && isAlive(value.pid)) resolve(true);
    },
    complete: () => undefined,
  });
  return promise;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    if (hasErrno(error, 'ESRCH')) return false;
    throw error;
  }
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
