import { buildImages } from '@kubus/node-images';
import {
  type HubChoice,
  type NodeDir,
  type NodeSettings,
  checkKubeconfig,
  checkNats,
  checkRelayed,
  compileNatives,
  API_SERVICE_IP,
  DNS_SERVICE_IP,
  createNetworkNamespace,
  createNodeDir,
  endProcesses,
  everyService,
  findCniPlugins,
  findContainerd,
  findProcesses,
  freePort,
  freePorts,
  identitiesOf,
  inNetworkNamespace,
  inTransientScope,
  isLoopback,
  joinMachineNetwork,
  keepHub,
  keepNatsCa,
  keepNetworkNamespace,
  natsFolder,
  nodeProgram,
  nodeProgramEnv,
  nodeSettingsSchema,
  parseNatsUrl,
  readHub,
  startProcess,
  takeIdentities,
  takeKeptApi,
  writeSettings,
} from '@kubus/launcher';
import { hostProcess } from '@kubus/service-kit';
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { UpOptions } from '../commands/up-options.ts';
import { checkout } from '../nats-option.ts';
import { observatoryPage, publishedContract } from '../observatory/page-files.ts';
import { printError } from '../output/output.ts';
import { UserError } from '../user-error.ts';
import { checkInstances } from './instance-limit.ts';
import { checkPublished, chooseNetwork } from './network-choice.ts';
import { writeApiCredentials } from './api-credentials.ts';
import { type GivenSettings, merged, settingsOf } from './given-settings.ts';
import { type Progress, showSteps, step } from './start-steps.ts';

/** How long a launcher may take to end, in milliseconds. */
const LAUNCHER_MS = 5_000;

/** Where a start prints its steps, and what ends it. */
interface Start {
  readonly progress: Progress;
  /** Looked at between steps. */
  readonly signal: AbortSignal;
}

/** Starts a node with these options. Resolves when its services are started. */
export async function startNode(dir: NodeDir, options: UpOptions, start: Start): Promise<void> {
  const { nats, kubeconfig } = options;
  checkScale(options);
  // Before anything is created; the launcher looks again.
  if (kubeconfig !== undefined) await checkKubeconfig(kubeconfig);
  await findContainerd(options.containerd);
  await findCniPlugins();
  const network = await chooseNetwork(dir, options.network, start.progress);
  await checkPublished(network, options.publish, []);
  if (nats !== undefined) await useNats(dir, nats, options, start.progress);
  await useGivenHub(dir, options);
  await launch(dir, { ...settingsOf(options), network }, start);
}

/**
 * Starts the launcher and the services of a running node again, with its settings and those that are given. The runtime goes on, and with
 * it every container.
 */
export async function restartNode(
  dir: NodeDir,
  { kept, given, options }: { kept: NodeSettings; given: GivenSettings; options: UpOptions },
  start: Start,
): Promise<void> {
  checkScale(options);
  const settings = merged(kept, given);
  if (given.network !== undefined) await chooseNetwork(dir, given.network, start.progress);
  if (given.publish !== undefined) await checkPublished(settings.network, given.publish, kept.publish);
  if (settings.faults && settings.nats !== undefined) {
    throw new UserError('--faults cannot be used on a node with an external NATS server');
  }
  await useGivenHub(dir, options);
  await launch(dir, settings, start);
}

function checkScale({ scale }: UpOptions): void {
  for (const [service, count] of Object.entries(scale)) {
    checkInstances(service, count, 'more with "kubus scale --force" when the node runs');
  }
}

/** Starts the launcher, which ends the services that another one has left. */
async function launch(
  dir: NodeDir,
  given: GivenSettings & Pick<Partial<NodeSettings>, 'apiPort'>,
  { progress, signal }: Start,
): Promise<void> {
  const cache = join(checkout, '.kubus/cache');
  // Not in the launcher, which lives as long as the node and would keep the memory that this takes.
  const images = await step(progress, 'building images and native programs', async () => {
    await compileNatives(cache);
    return buildImages(cache);
  });
  signal.throwIfAborted();
  await createNodeDir(dir);
  const apiPort = given.api === true ? (given.apiPort ?? (await freePort())) : undefined;
  const place = given.network === 'host' ? await placeOnMachine(dir, apiPort) : await placeOfItsOwn(dir, given);
  // For the processes that connect both networks.
  await keepNetworkNamespace(dir.machineNamespace);
  const settings = nodeSettingsSchema.parse({
    ...given,
    ...place,
    apiPort,
    page: observatoryPage,
    contract: publishedContract,
    programs: {
      ...Object.fromEntries(
        everyService.map((service) => [service, join(checkout, 'services', service, 'dist/main.mjs')]),
      ),
      [hostProcess]: join(checkout, 'packages/tools/service-host/dist/main.mjs'),
    },
    images,
    cache,
  });
  const before = (await findProcesses(dir.root, dir.processes)).filter(({ what }) => what === 'launcher');
  await endProcesses(before, LAUNCHER_MS);
  signal.throwIfAborted();
  if (apiPort !== undefined) {
    await takeKeptApi(dir);
    await writeApiCredentials(dir, apiPort, settings.ports.api);
  }
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
  await showSteps(progress, { log, from, exited: launcher.exited }, signal);
}

/** What the node has in its network. */
type Place = Partial<Pick<NodeSettings, 'bridge' | 'subnet' | 'ports'>>;

async function placeOfItsOwn(dir: NodeDir, { api }: Pick<GivenSettings, 'api'>): Promise<Place> {
  await createNetworkNamespace(dir.networkNamespace, api === true ? [API_SERVICE_IP, DNS_SERVICE_IP] : []);
  return {};
}

/** The ports are free ones, since others listen on the machine, too. */
async function placeOnMachine(dir: NodeDir, apiPort: number | undefined): Promise<Place> {
  const network = await joinMachineNetwork(dir);
  const [nats = 0, hub = 0, kubelet = 0, api = 0] = await freePorts(4);
  return { ...network, ports: { nats, hub, kubelet, api: apiPort ?? api } };
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

async function useGivenHub(dir: NodeDir, { hub, hubCa, hubCredentials }: UpOptions): Promise<void> {
  if (hub !== undefined) await useHub(dir, { url: hub, ca: hubCa, credentials: hubCredentials });
}

/** Prepares the node to send its events to a hub; the hub need not be reachable now. */
async function useHub(dir: NodeDir, choice: HubChoice): Promise<void> {
  const hub = await readHub(choice);
  checkRelayed(hub);
  await createNodeDir(dir);
  await keepHub(dir, hub);
  await keepNetworkNamespace(dir.machineNamespace);
}
