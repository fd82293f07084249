import {
  type NodeDir,
  type NodeSettings,
  cleanStopped,
  findProcesses,
  hasKeptApi,
  nodeDir,
  readSettings,
} from '@kubus/launcher';
import type { Command } from 'commander';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { kubusCommand } from '../node/kubus-command.ts';
import { undoStart } from '../node/failed-start.ts';
import { programInNode } from '../node/program-in-node.ts';
import { requireRoot } from '../node/require-root.ts';
import { type GivenSettings, type SettingChange, changesOf, explicitSettings } from '../node/given-settings.ts';
import { restartNode, startNode } from '../node/start-node.ts';
import { Progress, step } from '../node/start-steps.ts';
import { print, printError } from '../output/output.ts';
import { UserError } from '../user-error.ts';
import { addAwaitPods } from './await-pods.ts';
import { down } from './down.ts';
import { type UpOptions, exampleManifests, upOptions } from './up-options.ts';

export function addUp(program: Command): void {
  const command = program
    .command('up')
    .description('start a private node on this machine and run the pods of a manifest folder');
  for (const option of upOptions()) command.addOption(option);
  command.action(async (options: UpOptions, command: Command) => {
    const isGiven = (name: string) => ['cli', 'env'].includes(command.getOptionValueSource(name) ?? '');
    await up(command.optsWithGlobals<{ node: string }>().node, options, explicitSettings(options, isGiven));
  });
  addAwaitPods(program);
}

/** @param given the settings whose options were given */
async function up(node: string, options: UpOptions, given: GivenSettings): Promise<void> {
  requireRoot('up');
  const dir = nodeDir(node);
  const processes = await findProcesses(dir.root, dir.processes);
  const running = processes.some(({ what }) => what === 'launcher');
  // With --output, standard output is for the document alone and progress goes to standard error.
  const stream = options.output === undefined ? process.stdout : process.stderr;
  const progress = new Progress(options.quiet === true ? undefined : stream, options.verbose);
  const signal = abortedBySignal();
  const existed = existsSync(dir.root) || existsSync(dir.run);
  const keepsApi = hasKeptApi(dir);
  const kept = await readSettings(dir);
  const begin =
    kept === undefined
      ? startNode
      : running
        ? startAgain(dir, { kept, options, given }, progress)
        : await startStopped(dir, { kept, options, given }, { progress, isLeft: processes.length > 0 });
  await begin?.(dir, options, { progress, signal }).catch(async (thrown: unknown) => {
    throw await undoStart(dir, { existed, keepsApi, signal, thrown });
  });
  const settings = await readSettings(dir);
  // A config-sources that the user runs may be started later.
  if (!options.elsewhere.includes('config-sources')) {
    const awaitsApi = settings?.apiPort !== undefined && !options.elsewhere.includes('kube-api');
    await inNode(
      dir,
      ['await-pods', ...(awaitsApi ? ['--api'] : [])],
      options.quiet === true ? 'ignore' : stream.fd,
      signal,
    );
  }
  if (options.output !== undefined && !signal.aborted) {
    await inNode(dir, ['get', 'pods', '--all-namespaces', '--output', options.output], process.stdout.fd, signal);
  }
  if (options.foreground === true) await stay(dir, signal);
  else if (signal.aborted) {
    throw new UserError(`interrupted; node ${node} keeps running: "./kubus --node ${node} down" removes it`);
  } else if (options.quiet !== true && options.output === undefined) printNextSteps(node, settings?.manifests);
}

/** Aborted by the first SIGINT or SIGTERM; what was begun is then undone, however often Ctrl-C is pressed. */
function abortedBySignal(): AbortSignal {
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ending.abort());
  return ending.signal;
}

/** What a node has, and what it is asked to have. */
interface Wanted {
  readonly kept: NodeSettings;
  readonly options: UpOptions;
  readonly given: GivenSettings;
}

/** How the services of a running node start again with what is given; undefined when the node stays as it is. */
function startAgain(dir: NodeDir, { kept, options, given }: Wanted, progress: Progress): typeof startNode | undefined {
  const changes = changesOf(kept, given);
  if (options.restart === true) {
    refuseFixed(changes);
    return (dir, options, start) => restartNode(dir, { kept, given, options }, start);
  }
  progress.line(`node ${dir.node} is already running`);
  if (changes.length === 0) return undefined;
  const fixed = changes.filter(({ needsNewNode }) => needsNewNode);
  const how =
    fixed.length === 0
      ? 'the same command with --restart starts its services again with them; pods keep running'
      : `only a new node can have ${flagsOf(fixed)}: run "kubus down", then the same command`;
  const has = changes.map((change) => `${change.flag} is ${change.has}`).join(', ');
  printError(`kubus: the node was started with other options (${has}): ${how}`);
  return undefined;
}

/**
 * How a node that exists but does not run starts: with its own settings and those that are given.
 *
 * @param isLeft whether processes other than the launcher still run; they, and containers, go on
 */
async function startStopped(
  dir: NodeDir,
  { kept, given }: Wanted,
  { progress, isLeft }: { progress: Progress; isLeft: boolean },
): Promise<typeof startNode> {
  refuseFixed(changesOf(kept, given));
  if (!isLeft) {
    progress.line(
      `node ${dir.node} is not running any more: it starts again with its settings, manifests and recordings`,
    );
    await step(progress, 'removing what is left of its last run', () => cleanStopped(dir));
  }
  return (dir, options, start) => restartNode(dir, { kept, given, options }, start);
}

/** Throws a {@link UserError} for changes that only a new node can have. */
function refuseFixed(changes: readonly SettingChange[]): void {
  const fixed = changes.filter(({ needsNewNode }) => needsNewNode);
  if (fixed.length === 0) return;
  throw new UserError(`only a new node can have ${flagsOf(fixed)}: run "kubus down", then "kubus up"`);
}

function flagsOf(changes: readonly SettingChange[]): string {
  return changes.map(({ flag }) => flag).join(', ');
}

/**
 * Runs this program in the node's network namespace, until it ends or the signal ends it.
 *
 * @param output file descriptor for its standard output, if it is not ignored
 */
async function inNode(
  dir: NodeDir,
  args: readonly string[],
  output: number | 'ignore',
  signal: AbortSignal,
): Promise<void> {
  const { aborted } = signal;
  if (aborted) return;
  const [program, ...rest] = programInNode(dir, args);
  const child = spawn(program, rest, { stdio: ['inherit', output, 'inherit'] });
  signal.addEventListener('abort', () => child.kill());
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0 && !signal.aborted) process.exitCode = 1;
}

/** Prints changes of pods until Ctrl-C, then takes the node down. */
async function stay(dir: NodeDir, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) {
    const [program, ...rest] = programInNode(dir, ['get', 'pods', '--all-namespaces', '--watch']);
    const child = spawn(program, rest, { stdio: ['ignore', 'inherit', 'inherit'] });
    signal.addEventListener('abort', () => child.kill());
    await once(child, 'exit');
  }
  print('');
  await down(dir.node, { grace: 3 });
}

/** @param manifests the folder of the node: only that of the examples has the pod hello */
function printNextSteps(node: string, manifests: string | undefined): void {
  const kubus = kubusCommand(node);
  const pod = manifests === exampleManifests ? 'hello' : 'NAME ';
  print(`
Next steps:
  ${kubus} get pods -o wide        list the pods
  ${kubus} status                  services, runtime and network
  ${kubus} trace pod ${pod}         why each step of a pod's start happened
  ${kubus} tail                    follow all messages
  ${kubus} down                    stop the node and remove everything`);
}
