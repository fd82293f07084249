import { setTimeout as wait } from 'node:timers/promises';
import type { HubLink, KeyedIdentity } from '@kubus/bus-nats';
import { runtimeNetwork } from '@kubus/cni-config';
import type { KubeletSettings } from '@kubus/kubelet-config';
import type { AdjustableLogger } from '@kubus/service-kit';
import { writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { LauncherError } from '../errors.ts';
import { checkNats } from '../external-nats.ts';
import { freePort } from '../free-port.ts';
import { ensureIdentities, launcherSeed } from '../identities.ts';
import { hubLink, readHub } from '../hub.ts';
import { identitiesOf, natsFolder, takeIdentities } from '../nats-folder.ts';
import { type NatsAccess, parseNatsUrl } from '../nats-relay.ts';
import { natsConfigFile, writeNatsConfig } from '../nats-server.ts';
import { installNatives } from '../natives.ts';
import { nodeProgramEnv, serviceProgram } from '../node-program.ts';
import { hostProcess, runsServices } from '../node-services.ts';
import { identitiesFolder, nodeConfigFile } from '../node-settings.ts';
import { endProcesses, findProcesses } from '../process-record.ts';
import { ServiceProcesses, serviceOf } from '../service-processes.ts';
import { type LineReader, type StartedProcess, startProcess } from '../start-process.ts';
import { type KubeletDir, createKubeletDir } from './kubelet-dir.ts';
import { nodeConfigOf, servesHttps, socketOf } from './node-config.ts';
import { nodeIps } from './node-ips.ts';
import { askRuntime } from './runtime.ts';

const natsProcess = 'nats-server';
/** How long services may take to end in order, and then NATS. */
const END_MS = 5_000;
/** How often NATS is started again on another port because somebody else has taken the first one. */
const PORT_TRIES = 5;

export interface KubeletNodeOptions {
  readonly dir: KubeletDir;
  readonly settings: KubeletSettings;
  /** The checkout, or another folder with the built programs in the same places. */
  readonly programs: string;
  readonly logger: AdjustableLogger;
  /** Told what a process of the node writes. */
  readonly onLine: (process: { name: string; pid: number }, line: string) => void;
}

/**
 * The node agent in the place of the kubelet: its services, in the network that this process is in, and a NATS server
 * of their own. The container runtime is there already; pods go on when the agent ends.
 */
export class KubeletNode {
  readonly #options: KubeletNodeOptions;
  readonly #processes: ServiceProcesses;

  /** Throws `SlotTaken` when an agent runs there already. */
  constructor(options: KubeletNodeOptions) {
    const { dir, logger } = options;
    this.#options = options;
    this.#processes = new ServiceProcesses({
      dir,
      logger,
      shape: this.#shape,
      elsewhere: [],
      hub: options.settings.flags.hub !== '',
      start: (name) => this.#startService(name),
      scale: () => Promise.reject(new LauncherError('NotScalable', 'kubus kubelet runs one instance of every service')),
    });
  }

  /** Starts everything; resolves when all services serve. Throws what keeps the node from starting. */
  async start(): Promise<void> {
    const { dir, settings, programs, logger } = this.#options;
    const { containerRuntimeEndpoint: endpoint } = settings.config;
    const socket = socketOf(endpoint);
    const ips = await nodeIps(settings.flags['node-ip']);
    const runtime = await askRuntime(socket, endpoint, logger);
    await createKubeletDir(dir, settings.config.podLogsDir);
    await this.#processes.endLeftovers();
    const natives = await installNatives(dir, join(programs, '.kubus/cache'));
    await writeFile(join(dir.cni.handlerConf, '10-kubus.conflist'), runtimeNetwork());
    const { nats, identities } = await this.#startNats();
    const configz = join(dir.config, 'configz.json');
    await writeFile(configz, JSON.stringify({ kubeletconfig: settings.document }), { mode: 0o600 });
    const flagz = join(dir.config, 'flagz.json');
    await writeFile(flagz, JSON.stringify(settings.flagz), { mode: 0o600 });
    const wanted = settings.flags['runtime-handler'];
    const handler = runtime.handlers?.includes(wanted) === true ? wanted : undefined;
    const config = nodeConfigOf(settings, {
      dir,
      nats,
      relay: natives.relay,
      streamRelay: natives.streamRelay,
      runtime: socket,
      handler,
      cgroupDriver: runtime.cgroupDriver ?? (settings.config.cgroupDriver === 'systemd' ? 'systemd' : 'cgroupfs'),
      nodeIps: ips,
      cpus: availableParallelism(),
      configz,
      flagz,
    });
    await writeFile(nodeConfigFile(dir), `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
    const { name, version } = runtime;
    const network = handler === undefined ? 'of the runtime' : `of cni-bridge, through the handler ${handler}`;
    logger.info({ runtime: name, version, network, nodeIps: ips, nats: nats.url }, 'Starting the services');
    if (settings.config.enableServer && !servesHttps(settings)) {
      const why =
        'without --kubeconfig nobody can be asked who may use it (authentication.webhook, authorization.mode)';
      logger.warn({}, `The HTTPS API of the node is not served: ${why}`);
    }
    this.#processes.startServices();
    await this.#processes.joinBus({ ...nats, seed: launcherSeed(identities) });
    await this.#processes.untilServing();
  }

  /** Whether every service runs and serves. */
  get isWell(): boolean {
    return this.#processes.serving;
  }

  /** Ends the services in order, and then NATS. Pods go on. Harmless at any moment of the start. */
  async stop(): Promise<void> {
    const { dir } = this.#options;
    await this.#processes.stop();
    const running = await findProcesses(dir.root, dir.processes);
    await endProcesses(
      running.filter(({ what }) => runsServices(what)),
      END_MS,
    );
    await endProcesses(
      running.filter(({ what }) => what === natsProcess),
      END_MS,
    );
  }

  get #shape() {
    const { settings } = this.#options;
    const { hosted, kubeconfig } = settings.flags;
    const credentials = kubeconfig === '' ? undefined : kubeconfig;
    return { hosted, instances: {}, kubeconfig: credentials };
  }

  /** A server of the node's own, or the one that it was told. */
  async #startNats(): Promise<{ nats: NatsAccess; identities: readonly KeyedIdentity[] }> {
    const { dir, settings, programs } = this.#options;
    const { nats: url, 'nats-ca': file, 'nats-folder': folder } = settings.flags;
    const own = identitiesFolder(dir);
    const hub = await this.#hub();
    if (url !== '') {
      const known = await identitiesOf(natsFolder(folder === '' ? join(programs, '.kubus/nats') : folder), dir.node);
      const ca = file === '' ? undefined : resolve(file);
      await checkNats({ url, ca, node: dir.node, identities: known });
      await takeIdentities(known, dir);
      const nats = { url, ...(parseNatsUrl(url).tls && { tls: { ...(ca !== undefined && { ca }) } }) };
      return { nats, identities: await ensureIdentities(own) };
    }
    const identities = await ensureIdentities(own);
    for (let turn = 1; turn <= PORT_TRIES; turn++) {
      const port = await freePort();
      await writeNatsConfig(dir, identities, port, { hub });
      const start = () => this.#start(natsProcess, [natsProcess, '-c', natsConfigFile(dir)]);
      const first = await start();
      // One whose port somebody else has taken meanwhile ends at once.
      if (await listens(port, first)) {
        this.#processes.keep(natsProcess, start, first);
        return { nats: { url: `nats://127.0.0.1:${port}` }, identities };
      }
    }
    throw new LauncherError('NoNats', 'nats-server does not start: see what it says above');
  }

  async #hub(): Promise<HubLink | undefined> {
    const { dir, settings } = this.#options;
    const { nats, hub: url, 'hub-ca': ca, 'hub-credentials': credentials } = settings.flags;
    if (url === '') return undefined;
    if (nats !== '') {
      throw new LauncherError('HubWithNats', '--hub is for a NATS server of the node’s own, not for one of --nats');
    }
    const file = (path: string) => (path === '' ? undefined : resolve(path));
    return hubLink(dir.node, await readHub({ url, ca: file(ca), credentials: file(credentials) }));
  }

  #startService(name: string): Promise<StartedProcess> {
    const { dir, programs } = this.#options;
    const service = serviceOf(name);
    const folder = name === hostProcess ? 'packages/service-host' : `services/${service}`;
    const program = serviceProgram(join(programs, folder, 'dist/main.mjs'), nodeConfigFile(dir), name);
    return this.#start(name, program, nodeProgramEnv);
  }

  #start(
    what: string,
    command: readonly [string, ...string[]],
    env: Readonly<Record<string, string>> = {},
  ): Promise<StartedProcess> {
    const { dir, onLine } = this.#options;
    const log: LineReader = (line) => onLine({ name: what, pid: this.#processes.pid(what) ?? process.pid }, line);
    return startProcess({ dir, what, command, env, log });
  }
}

/** Resolves when the process listens on the port, or has ended instead. */
async function listens(port: number, { exited }: StartedProcess): Promise<boolean> {
  const end = { seen: false };
  void exited.then(() => (end.seen = true));
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const answers = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    // What answers after it has ended is what has its port.
    if (end.seen || answers) return !end.seen;
    await wait(10);
  }
}
