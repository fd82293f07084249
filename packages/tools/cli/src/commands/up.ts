import { buildImages } from '@kubus/node-images';
import {
  type HubChoice,
  type NodeDir,
  checkNats,
  checkRelayed,
  compileNatives,
  createNetworkNamespace,
  createNodeDir,
  findProcesses,
  hostProcess,
  identitiesOf,
  inNetworkNamespace,
  inTransientScope,
  isLoopback,
  keepHub,
  keepNatsCa,
  keepNetworkNamespace,
  natsFolder,
  nodeDir,
  nodeProgram,
  nodeProgramEnv,
  everyService,
  nodeSettingsSchema,
  parseNatsUrl,
  readHub,
  startProcess,
  takeIdentities,
  writeSettings,
} from '@kubus/launcher';
import type { Command } from 'commander';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { checkout } from '../nats-option.ts';
import { observatoryPage, publishedContract } from '../observatory/page-files.ts';
import { print, printError } from '../output/output.ts';
import { checkInstances } from '../node/instance-limit.ts';
import { programInNode } from '../node/program-in-node.ts';
import { UserError } from '../user-error.ts';
import { requireRoot } from '../node/require-root.ts';
import { addAwaitPods } from './await-pods.ts';
import { down } from './down.ts';
import { type UpOptions, upOptions } from './up-options.ts';

/** The stream on which the steps are printed. */
type Progress = Pick<NodeJS.WriteStream, 'write'>;

export function addUp(program: Command): void {
  const command = program
    .command('up')
    .description('start a private node on this machine and run the pods of a manifest folder');
  for (const option of upOptions()) command.addOption(option);
  command.action(async (options: UpOptions, command: Command) => {
    await up(command.optsWithGlobals<{ node: string }>().node, options);
  });
  addAwaitPods(program);
}

async function up(node: string, options: UpOptions): Promise<void> {
  requireRoot('up');
  const dir = nodeDir(node);
  const running = (await findProcesses(dir.root, dir.processes)).some(({ what }) => what === 'launcher');
  // With --output, standard output is for the document alone and progress goes to standard error.
  const progress = options.output === undefined ? process.stdout : process.stderr;
  if (running) progress.write(`node ${node} is already running\n`);
  else await start(dir, options, progress);
  // A config-sources that the user runs may be started later.
  if (!options.elsewhere.includes('config-sources')) await inNode(dir, ['await-pods'], progress.fd);
  if (options.output !== undefined) {
    await inNode(dir, ['get', 'pods', '--all-namespaces', '--output', options.output], process.stdout.fd);
    return;
  }
  if (options.foreground === true) await stay(dir);
  else printNextSteps(node);
}

async function start(dir: NodeDir, options: UpOptions, progress: Progress): Promise<void> {
  const {
    nats,
    hub,
    containerd,
    kubeconfig,
    logLevel,
    manifests,
    elsewhere,
    hosted,
    observatory,
    faults,
    journal,
    scale: instances,
  } = options;
  for (const [service, count] of Object.entries(instances)) {
    checkInstances(service, count, 'more with "kubus scale --force" when the node runs');
  }
  if (nats !== undefined) await useNats(dir, nats, options, progress);
  if (hub !== undefined) await useHub(dir, { url: hub, ca: options.hubCa, credentials: options.hubCredentials });
  const cache = join(checkout, '.kubus/cache');
  // Not in the launcher, which lives as long as the node and would keep the memory that this takes.
  const images = await step(progress, 'building images and native programs', async () => {
    await compileNatives(cache);
    return buildImages(cache);
  });
  await createNodeDir(dir);
  await createNetworkNamespace(dir.networkNamespace);
  if (kubeconfig !== undefined) await keepNetworkNamespace(dir.machineNamespace);
  const settings = nodeSettingsSchema.parse({
    manifests,
    nats,
    natsCa: options.natsCa !== undefined,
    hub,
    hubCa: options.hubCa !== undefined,
    logLevel,
    journal,
    containerd,
    kubeconfig,
    elsewhere,
    hosted,
    observatory,
    page: observatoryPage,
    contract: publishedContract,
    faults,
    instances,
    programs: {
      ...Object.fromEntries(
        everyService.map((service) => [service, join(checkout, 'services', service, 'dist/main.mjs')]),
      ),
      [hostProcess]: join(checkout, 'packages/tools/service-host/dist/main.mjs'),
    },
    images,
    cache,
  });
  await writeSettings(dir, settings);
  const log = join(dir.logs, 'launcher.log');
  const from = await stat(log).then(
    ({ size }) => size,
    () => 0,
  );
  const program = nodeProgram(join(checkout, 'packages/tools/launcher/dist/main.mjs'), ['--node', dir.node]);
  const launcher = await startProcess({
    dir,
    what: 'launcher',
    // The pid makes the name unique: of an earlier launcher that was killed, processes may be left in its scope.
    command: inTransientScope(
      `kubus-${dir.node}-${process.pid}`,
      `Kubus node ${dir.node}`,
      inNetworkNamespace(dir.networkNamespace, program),
    ),
    env: nodeProgramEnv,
    log,
  });
  await showSteps(progress, log, from, launcher.exited);
}

/** Prepares the node for an external NATS server; throws before anything is started when the server cannot be used. */
async function useNats(
  dir: NodeDir,
  url: string,
  { natsFolder: path, natsCa, scale }: Pick<UpOptions, 'natsFolder' | 'natsCa' | 'scale'>,
  progress: Progress,
): Promise<void> {
  const server = parseNatsUrl(url);
  const ca = natsCa && resolve(natsCa);
  if (ca !== undefined && !server.tls) throw new UserError(`--nats-ca needs a tls:// server: ${url} does not use TLS`);
  if (!server.tls && !isLoopback(server)) {
    printError(
      `kubus: warning: ${url} is not on this machine and uses no TLS: anyone who can change its traffic is root on node ${dir.node}; use tls://`,
    );
  }
  const identities = await identitiesOf(natsFolder(resolve(path)), dir.node, scale);
  await step(progress, `checking NATS at ${url}`, () => checkNats({ url, ca, node: dir.node, identities }));
  await createNodeDir(dir);
  if (ca !== undefined) await keepNatsCa(dir, ca);
  await keepNetworkNamespace(dir.machineNamespace);
  await takeIdentities(identities, dir);
}

/** Prepares the node to send its events to a hub; the hub need not be reachable now. */
async function useHub(dir: NodeDir, choice: HubChoice): Promise<void> {
  const hub = await readHub(choice);
  checkRelayed(hub);
  await createNodeDir(dir);
  await keepHub(dir, hub);
  await keepNetworkNamespace(dir.machineNamespace);
}

async function step<T>(progress: Progress, what: string, action: () => Promise<T>): Promise<T> {
  progress.write(`kubus: ${what} ... `);
  const began = performance.now();
  const result = await action();
  progress.write(`${((performance.now() - began) / 1000).toFixed(1)} s\n`);
  return result;
}

/** Runs this program in the node's network namespace. @param output file descriptor for its standard output */
async function inNode(dir: NodeDir, args: readonly string[], output: number): Promise<void> {
  const [program, ...rest] = programInNode(dir, args);
  const child = spawn(program, rest, { stdio: ['inherit', output, 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) process.exitCode = 1;
}

/** Prints each step in the launcher's log with its duration in seconds, until the node is started. Throws a {@link UserError} when that fails. */
async function showSteps(progress: Progress, log: string, from: number, exited: Promise<string>): Promise<void> {
  let shown = from;
  let step: { text: string; began: number } | undefined;
  const finishStep = () => {
    if (step !== undefined) progress.write(`${((performance.now() - step.began) / 1000).toFixed(1)} s\n`);
    step = undefined;
  };
  const watcher = watch(log);
  const outcome = Promise.withResolvers<string | undefined>();
  const look = () => {
    const text = readFileSync(log).subarray(shown).toString();
    const end = text.lastIndexOf('\n') + 1;
    shown += Buffer.byteLength(text.slice(0, end));
    for (const line of text.slice(0, end).split('\n')) {
      const entry = parse(line);
      if (entry?.step !== undefined) {
        finishStep();
        progress.write(`kubus: ${entry.step} ... `);
        step = { text: entry.step, began: performance.now() };
      }
      if (entry?.failed !== undefined) outcome.resolve(entry.failed);
      if (entry?.started === true) outcome.resolve(undefined);
    }
  };
  watcher.on('change', look);
  void exited.then((status) => {
    look();
    outcome.resolve(`the launcher ended (${status}): see ${log}`);
  });
  look();
  const failed = await outcome.promise;
  watcher.close();
  finishStep();
  if (failed !== undefined) throw new UserError(failed);
}

function parse(line: string): { step?: string; failed?: string; started?: boolean } | undefined {
  try {
    return JSON.parse(line) as { step?: string };
  } catch {
    return undefined;
  }
}

/** Prints changes of pods until Ctrl-C, then takes the node down. */
async function stay(dir: NodeDir): Promise<void> {
  const [program, ...rest] = programInNode(dir, ['get', 'pods', '--all-namespaces', '--watch']);
  const child = spawn(program, rest, { stdio: ['ignore', 'inherit', 'inherit'] });
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    child.once('exit', () => resolve());
  });
  child.kill();
  print('');
  await down(dir.node, 3);
}

function printNextSteps(node: string): void {
  const flag = node === 'node0' ? '' : ` --node ${node}`;
  print(`
Next steps:
  ./kubus${flag} get pods -o wide        list the pods
  ./kubus${flag} status                  services, runtime and network
  ./kubus${flag} trace pod hello         why each step of a pod's start happened
  ./kubus${flag} tail                    follow all messages
  ./kubus${flag} down                    stop the node and remove everything`);
}
