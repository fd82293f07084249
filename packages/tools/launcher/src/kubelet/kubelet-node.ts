import { setTimeout as wait } from 'node:timers/promises';
import type { HubLink } from '@kubus/bus-nats';
import { cgroupMounts, kernelMemory } from '@kubus/cgroup';
import { runtimeNetwork } from '@kubus/cni-config';
import { serviceOfInstance } from '@kubus/contracts';
import type { KubeletSettings } from '@kubus/kubelet-config';
import { type AdjustableLogger, type Placement, systemClock } from '@kubus/service-kit';
import { writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect, isIPv6 } from 'node:net';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { LauncherError } from '../errors.ts';
import { checkNats } from '../nats/external-nats.ts';
import { freePort } from '../network/free-port.ts';
import { ensureIdentities } from '../nats/identities.ts';
import { hubLink, readHub } from '../nats/hub.ts';
import { identitiesOf, natsFolder, takeIdentities } from '../nats/nats-folder.ts';
import { type NatsAccess, parseNatsUrl } from '../nats/nats-relay.ts';
import { natsConfigFile, natsEnv, writeNatsConfig } from '../nats/nats-server.ts';
import { installNatives } from '../node/natives.ts';
import { nodeProgramEnv, serviceProgram } from '../processes/node-program.ts';
import { runsServices, sharedProcesses } from '../node/node-services.ts';
import { identitiesFolder, nodeConfigFile } from '../node/node-settings.ts';
import { endProcesses, findProcesses } from '../processes/process-record.ts';
import { ServiceProcesses } from '../processes/service-processes.ts';
import { type LineReader, type StartedProcess, startProcess } from '../processes/start-process.ts';
import { AgentCgroups } from './agent-cgroups.ts';
import { checkCgroups, driverOf } from './cgroups.ts';
import { setKernelDefaults } from './kernel-defaults.ts';
import { type KubeletDir, createKubeletDir } from './kubelet-dir.ts';
import { nodeConfigOf, servesHttps, socketOf } from './node-config.ts';
import { nodeIps } from './node-ips.ts';
import { askRuntime } from './runtime.ts';

const natsProcess = 'nats-server';
/** Grace period of the services, and then of NATS, in milliseconds. */
const END_MS = 5_000;
/** How long /healthz may take to answer, in milliseconds. */
const HEALTHZ_MS = 5_000;
/** How often NATS is started on another port when a port was taken meanwhile. */
const PORT_TRIES = 5;

/** What {@link KubeletNode} needs. */
export interface KubeletNodeOptions {
  readonly dir: KubeletDir;
  readonly settings: KubeletSettings;
  /** Which services share a process. */
  readonly placement: Placement;
  /** The checkout, or another folder with the same layout of built programs. */
  readonly programs: string;
  readonly logger: AdjustableLogger;
  /** Called with each line that a process of the node writes. */
  readonly onLine: (process: { name: string; pid: number }, line: string) => void;
}

/**
 * The node agent instead of the kubelet: its services, in the network of this process, and their own NATS server. It uses an existing
 * container runtime; pods keep running when the agent ends.
 */
export class KubeletNode {
  readonly #options: KubeletNodeOptions;
  readonly #processes: ServiceProcesses;
  #cgroups: AgentCgroups | undefined;

  /** Throws `SlotTaken` when another agent with the same root folder is running. */
  constructor(options: KubeletNodeOptions) {
    const { dir, logger } = options;
    this.#options = options;
    this.#processes = new ServiceProcesses({
      dir,
      logger,
      shape: this.#shape,
      elsewhere: [],
      hub: options.settings.flags.hub !== '',
      start: (name, elsewhere) => this.#startService(name, elsewhere),
      scale: () =>
        Promise.reject(
          new LauncherError(
            'NotScalable',
            'kubus kubelet always runs one instance of every service: it cannot be scaled',
          ),
        ),
    });
  }

  /** Starts everything; resolves when all services are ready. Throws what prevents the node from starting. */
  async start(): Promise<void> {
    const { dir, settings, programs, logger } = this.#options;
    const { containerRuntimeEndpoint: endpoint } = settings.config;
    const socket = socketOf(endpoint);
    const ips = await nodeIps(settings.flags['node-ip']);
    const runtime = await askRuntime(socket, endpoint, logger);
    const cgroupDriver = driverOf(settings.config, runtime, settings.namesCgroupDriver);
    const mounts = await cgroupMounts();
    await checkCgroups(settings.config, cgroupDriver, mounts);
    this.#cgroups = new AgentCgroups({ config: settings.config, mounts, clock: systemClock, logger });
    await setKernelDefaults(settings.config.protectKernelDefaults, logger);
    const agentCgroup = await this.#cgroups.start();
    await createKubeletDir(dir, settings.config.podLogsDir);
    await this.#processes.endLeftovers();
    const natives = await installNatives(dir, join(programs, '.kubus/cache'));
    await writeFile(join(dir.cni.handlerConf, '10-kubus.conflist'), runtimeNetwork());
    const nats = await this.#startNats();
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
      mountHelper: natives.mountHelper,
      mallocTrim: natives.mallocTrim,
      memoryWatch: mounts.version === 1 ? natives.memoryWatch : undefined,
      runtime: socket,
      handler,
      cgroupDriver,
      ...{ agentCgroup, startedAtMs: performance.timeOrigin },
      accountsForSwap: (await kernelMemory(mounts)).accountsForSwap,
      nodeIps: ips,
      cpus: availableParallelism(),
      configz,
      flagz,
    });
    await writeFile(nodeConfigFile(dir), `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
    const { name, version } = runtime;
    const network =
      handler === undefined ? 'set up by the runtime' : `set up by cni-bridge, runtime handler ${handler}`;
    logger.info({ runtime: name, version, network, nodeIps: ips, nats: nats.url }, 'Starting the services');
    if (settings.config.enableServer && !servesHttps(settings)) {
      const why = 'authentication.webhook and authorization.mode=Webhook need --kubeconfig';
      logger.warn({}, `Not serving the HTTPS API: ${why}`);
    }
    this.#processes.startServices();
    await this.#processes.joinBus({ ...nats, identities: identitiesFolder(dir) });
    await this.#processes.untilServing();
  }

  /** Whether every service is running and ready, and /healthz says so, unless it is not served. */
  async isHealthy(): Promise<boolean> {
    if (!this.#processes.serving) return false;
    const { healthzBindAddress: address, healthzPort: port } = this.#options.settings.config;
    return port === 0 || answersOk(`http://${isIPv6(address) ? `[${address}]` : address}:${port}/healthz`);
  }

  /** Ends the services, and then NATS. Pods keep running. Harmless at any moment of the start. */
  async stop(): Promise<void> {
    const { dir } = this.#options;
    this.#cgroups?.stop();
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
    const { settings, placement } = this.#options;
    const { kubeconfig } = settings.flags;
    const credentials = kubeconfig === '' ? undefined : kubeconfig;
    return { placement, instances: {}, kubeconfig: credentials };
  }

  /** Starts the node's own NATS server, or prepares the use of the external one. */
  async #startNats(): Promise<NatsAccess> {
    const { dir, settings, programs } = this.#options;
    const { nats: url, 'nats-ca': file, 'nats-folder': folder } = settings.flags;
    const own = identitiesFolder(dir);
    const hub = await this.#hub();
    if (url !== '') {
      const known = await identitiesOf(natsFolder(folder === '' ? join(programs, '.kubus/nats') : folder), dir.node);
      const ca = file === '' ? undefined : resolve(file);
      await checkNats({ url, ca, node: dir.node, identities: known });
      await takeIdentities(known, dir);
      return { url, ...(parseNatsUrl(url).tls && { tls: { ...(ca !== undefined && { ca }) } }) };
    }
    const identities = await ensureIdentities(own);
    for (let turn = 1; turn <= PORT_TRIES; turn++) {
      const port = await freePort();
      await writeNatsConfig(dir, identities, port, { hub });
      const start = () => this.#start(natsProcess, [natsProcess, '-c', natsConfigFile(dir)], natsEnv);
      const first = await start();
      // A server whose port was taken meanwhile exits at once.
      if (await listens(port, first)) {
        this.#processes.keep(natsProcess, start, first);
        return { url: `nats://127.0.0.1:${port}` };
      }
    }
    throw new LauncherError('NoNats', 'nats-server does not start: see its messages above');
  }

  async #hub(): Promise<HubLink | undefined> {
    const { dir, settings } = this.#options;
    const { nats, hub: url, 'hub-ca': ca, 'hub-credentials': credentials } = settings.flags;
    if (url === '') return undefined;
    if (nats !== '') {
      throw new LauncherError(
        'HubWithNats',
        '--hub cannot be used with --nats: configure the leaf node connection on the external NATS server',
      );
    }
    const file = (path: string) => (path === '' ? undefined : resolve(path));
    return hubLink(dir.node, await readHub({ url, ca: file(ca), credentials: file(credentials) }));
  }

  #startService(name: string, elsewhere: readonly string[]): Promise<StartedProcess> {
    const { dir, programs } = this.#options;
    const service = serviceOfInstance(name);
    const services = sharedProcesses(this.#shape).get(name);
    const folder = services === undefined ? `services/${service}` : 'packages/tools/service-host';
    const program = serviceProgram(
      join(programs, folder, 'dist/main.mjs'),
      nodeConfigFile(dir),
      name,
      services,
      elsewhere,
    );
    return this.#start(name, program, nodeProgramEnv, services !== undefined);
  }

  #start(
    what: string,
    command: readonly [string, ...string[]],
    env: Readonly<Record<string, string>> = {},
    isShared = false,
  ): Promise<StartedProcess> {
    const { dir, onLine } = this.#options;
    const log: LineReader = (line) => onLine({ name: what, pid: this.#processes.pid(what) ?? process.pid }, line);
    return startProcess({ dir, what, command, env, log, isShared });
  }
}

/** Whether a GET of the URL is answered with success in time. */
async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(HEALTHZ_MS) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

/** Resolves to true when the process listens on the TCP port, to false when it has exited instead. */
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
    // If it has exited, the answer is from the process that has the port.
    if (end.seen || answers) return !end.seen;
    await wait(10);
  }
}
