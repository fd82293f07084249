import { CriError } from '@kubus/cri';
import type { ContainerEventsListener, ContainerHint, CriClient, CriConnection } from '@kubus/cri';
import type { CriMethods, PodSandboxConfig, UnaryCriMethod } from '@kubus/proto/cri';
import type { ProcessGuard } from './process-guard.ts';
import type { Random } from '@kubus/ports';
import {
  type Behaviour,
  type ContainerObserver,
  HANDLER,
  type ModelContainer,
  type ModelSandbox,
  type RuntimeDeed,
  type SandboxNetwork,
  containerStatus,
  idFaults,
  labelled,
  listedContainer,
  listedSandbox,
  onHostNetwork,
  sandboxStatus,
} from './runtime-things.ts';
import type { Scheduler } from './scheduler.ts';

/**
 * A model of containerd 1.6 behind CRI: names are reserved from the start of a create to the end of a remove, calls
 * take time and continue when their caller crashes (the holding relay), events may be late or lost, and an idle call may fail.
 */
export class RuntimeModel {
  readonly deeds: RuntimeDeed[] = [];
  readonly idFaults: string[] = [];
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #network: SandboxNetwork;
  readonly #behaviour: (name: string, attempt: number) => Behaviour;
  readonly #sandboxes = new Map<string, ModelSandbox>();
  readonly #containers = new Map<string, ModelContainer>();
  readonly #reserved = new Map<string, string>();
  readonly #listeners = new Set<(hint: ContainerHint) => void>();
  readonly #observers = new Set<ContainerObserver>();
  /** Probability that an event is lost, and that a create fails. */
  trouble = { lostEvent: 0, failedCreate: 0 };
  #ids = 0;

  constructor(options: {
    scheduler: Scheduler;
    random: Random;
    network: SandboxNetwork;
    behaviour: (containerName: string, attempt: number) => Behaviour;
  }) {
    this.#scheduler = options.scheduler;
    this.#random = options.random;
    this.#network = options.network;
    this.#behaviour = options.behaviour;
  }

  observe(observer: ContainerObserver): void {
    this.#observers.add(observer);
  }

  /** The current sandboxes and containers of one pod. */
  pod(uid: string): { sandboxes: readonly ModelSandbox[]; containers: readonly ModelContainer[] } {
    return {
      sandboxes: [...this.#sandboxes.values()].filter((one) => one.config.metadata?.uid === uid),
      containers: [...this.#containers.values()].filter((one) => one.sandbox.config.metadata?.uid === uid),
    };
  }

  /** UIDs of all pods that have a container or sandbox. */
  get uids(): string[] {
    return [...new Set([...this.#sandboxes.values()].map((one) => one.config.metadata?.uid ?? ''))];
  }

  /** A process's connection. */
  client(guard: ProcessGuard): Pick<CriClient, 'call' | 'connection' | 'watchConnection' | 'containerEvents'> {
    return {
      connection: 'connected',
      watchConnection: (listener: (connection: CriConnection) => void) => {
        let wanted = true;
        this.#scheduler.after(1, () => {
          if (wanted && guard.alive) listener('connected');
        });
        return () => (wanted = false);
      },
      containerEvents: (listener: ContainerEventsListener) => {
        const onHint = guard.listener((hint: ContainerHint) => listener.onHint(hint));
        this.#listeners.add(onHint);
        this.#scheduler.after(1, () => {
          if (guard.alive) listener.onState({ state: 'streaming', source: 'containerd' });
        });
        return () => this.#listeners.delete(onHint);
      },
      call: <M extends UnaryCriMethod>(method: M, request: CriMethods[M]['request']) =>
        guard.promise(this.#call(method, request)),
    };
  }

  async #call<M extends UnaryCriMethod>(
    method: M,
    request: CriMethods[M]['request'],
  ): Promise<CriMethods[M]['response']> {
    const handler = this.#handlers[method];
    if (handler === undefined) throw new CriError('Unimplemented', `unknown method ${method}`, { method });
    await this.#time(0.3, 2);
    return handler(request);
  }

  readonly #handlers: {
    [M in UnaryCriMethod]?: (request: CriMethods[M]['request']) => Promise<CriMethods[M]['response']>;
  } = {
    Version: () => Promise.resolve({ runtimeName: 'containerd', runtimeVersion: 'model' }),
    Status: () =>
      Promise.resolve({
        status: {
          conditions: [
            { type: 'RuntimeReady', status: true },
            { type: 'NetworkReady', status: true },
          ],
        },
        runtimeHandlers: ['', 'runc', HANDLER].map((name) => ({ name, features: { userNamespaces: true } })),
      }),
    ImageStatus: ({ image }) => Promise.resolve({ image: { id: `sha256:${image?.image ?? ''}`, size: '1' } }),
    RunPodSandbox: (request) => this.#runSandbox(request),
    CreateContainer: (request) => this.#create(request),
    StartContainer: ({ containerId = '' }) => this.#start(containerId),
    StopContainer: ({ containerId = '', timeout = '0' }) => this.#stop(containerId, Number(timeout)),
    RemoveContainer: ({ containerId = '' }) => this.#remove(containerId),
    StopPodSandbox: ({ podSandboxId = '' }) => this.#stopSandbox(podSandboxId),
    ExecSync: ({ containerId = '' }) => this.#exec(containerId),
    RemovePodSandbox: ({ podSandboxId = '' }) => this.#removeSandbox(podSandboxId),
    ListPodSandbox: ({ filter }) =>
      Promise.resolve({
        items: [...this.#sandboxes.values()].map(listedSandbox).filter((one) => labelled(one, filter?.labelSelector)),
      }),
    ListContainers: ({ filter }) =>
      Promise.resolve({
        containers: [...this.#containers.values()]
          .filter((one) => filter?.podSandboxId === undefined || one.sandbox.id === filter.podSandboxId)
          .map(listedContainer)
          .filter((one) => labelled(one, filter?.labelSelector)),
      }),
    PodSandboxStatus: ({ podSandboxId = '' }) =>
      Promise.resolve({ status: sandboxStatus(this.#sandbox('PodSandboxStatus', podSandboxId)) }),
    ContainerStatus: ({ containerId = '' }) =>
      Promise.resolve({ status: containerStatus(this.#container('ContainerStatus', containerId)) }),
    UpdateContainerResources: ({ containerId = '', linux }) => {
      const container = this.#container('UpdateContainerResources', containerId);
      container.cpus = linux?.cpusetCpus ?? container.cpus;
      for (const { updated } of this.#observers) updated(container);
      return Promise.resolve({});
    },
  };

  async #runSandbox({ config = {}, runtimeHandler = '' }: CriMethods['RunPodSandbox']['request']) {
    const { name = '', namespace = '', uid = '', attempt = 0 } = config.metadata ?? {};
    const reserved = `${name}_${namespace}_${uid}_${attempt}`;
    const id = this.#reserve('RunPodSandbox', reserved);
    try {
      await this.#time(5, 30);
      this.#mayFail('RunPodSandbox', 'failed to create containerd task');
      const ip = onHostNetwork(config) ? '' : await this.#addNetwork(id, config, runtimeHandler);
      await this.#time(5, 30);
      const sandbox = { id, config, handler: runtimeHandler, createdAt: this.#nanos(), ready: true, ip };
      this.#sandboxes.set(id, sandbox);
      this.#deed('sandbox', uid, '', attempt, id);
      this.#hint(id, 'started');
      return { podSandboxId: id };
    } catch (error) {
      await this.#undoSandbox({ id, config, handler: runtimeHandler }, reserved);
      throw error;
    }
  }

  /** A sandbox whose network cannot be removed is kept, not ready, so that it is stopped later. */
  async #undoSandbox(sandbox: Pick<ModelSandbox, 'id' | 'config' | 'handler'>, reserved: string): Promise<void> {
    const { id, config } = sandbox;
    try {
      await this.#removeNetwork('RunPodSandbox', sandbox);
      this.#reserved.delete(reserved);
    } catch {
      this.#sandboxes.set(id, { ...sandbox, createdAt: this.#nanos(), ready: false, ip: '' });
      const { uid = '', attempt = 0 } = config.metadata ?? {};
      this.#deed('sandbox', uid, '', attempt, id);
    }
  }

  /** The runtime's own network has no configuration, as on a node that leaves pods' networks to cni-bridge. */
  #addNetwork(id: string, config: PodSandboxConfig, handler: string): Promise<string> {
    if (handler !== HANDLER) throw this.#unknown('RunPodSandbox', 'cni plugin not initialized');
    return this.#network.add(id, config);
  }

  async #removeNetwork(
    method: UnaryCriMethod,
    { id, config, handler }: Pick<ModelSandbox, 'id' | 'config' | 'handler'>,
  ): Promise<void> {
    if (handler === HANDLER) await this.#network.remove(id);
    else if (!onHostNetwork(config)) throw this.#unknown(method, 'cni plugin not initialized');
  }

  async #create({ podSandboxId = '', config = {} }: CriMethods['CreateContainer']['request']) {
    const sandbox = this.#sandbox('CreateContainer', podSandboxId);
    if (!sandbox.ready) throw this.#unknown('CreateContainer', 'sandbox container is not running');
    const { name = '', attempt = 0 } = config.metadata ?? {};
    const { uid = '' } = sandbox.config.metadata ?? {};
    const reserved = `${name}_${uid}_${attempt}`;
    const id = this.#reserve('CreateContainer', reserved);
    await this.#time(5, 30);
    try {
      this.#mayFail('CreateContainer', 'failed to create containerd container');
    } catch (error) {
      this.#reserved.delete(reserved);
      throw error;
    }
    this.idFaults.push(...idFaults(sandbox, this.#containers.values()));
    const container: ModelContainer = {
      id,
      sandbox,
      config,
      createdAt: this.#nanos(),
      state: 'CONTAINER_CREATED',
      starting: false,
      startedAt: 0n,
      finishedAt: 0n,
      exitCode: 0,
      reason: '',
      cpus: config.linux?.resources?.cpusetCpus,
      onExit: [],
    };
    this.#containers.set(id, container);
    for (const { created } of this.#observers) created(container);
    this.#deed('create', uid, name, attempt, id);
    this.#hint(id, 'created');
    return { containerId: id };
  }

  async #start(id: string) {
    const container = this.#container('StartContainer', id);
    if (container.starting) throw this.#unknown('StartContainer', 'container is already in starting state');
    if (container.state !== 'CONTAINER_CREATED') {
      throw this.#unknown('StartContainer', `container is in ${container.state} state`);
    }
    container.starting = true;
    await this.#time(10, 60);
    container.starting = false;
    if (!container.sandbox.ready) {
      this.#exit(container, 128, 'StartError', false);
      throw this.#unknown('StartContainer', 'sandbox container "x" is not running');
    }
    const { name = '', attempt = 0 } = container.config.metadata ?? {};
    container.state = 'CONTAINER_RUNNING';
    container.startedAt = this.#nanos();
    for (const { started } of this.#observers) started(container);
    this.#deed('start', container.sandbox.config.metadata?.uid ?? '', name, attempt, id);
    this.#hint(id, 'started');
    const { runMs, exitCode } = this.#behaviour(name, attempt);
    if (runMs !== undefined) {
      this.#scheduler.after(runMs, () => this.#exit(container, exitCode, exitCode === 0 ? 'Completed' : 'Error', true));
    }
    return {};
  }

  async #stop(id: string, timeoutSeconds: number) {
    const container = this.#container('StopContainer', id);
    if (container.state !== 'CONTAINER_RUNNING') return {};
    const ends = Math.min(timeoutSeconds * 1000, this.#random.pick([20, 200, 5_000]));
    const ended = new Promise<void>((resolve) => container.onExit.push(resolve));
    this.#scheduler.after(ends, () => this.#exit(container, 137, 'Error', false));
    await ended;
    await this.#time(1, 5);
    return {};
  }

  /** A command in a container takes time, and does not always succeed. */
  async #exec(id: string) {
    const container = this.#container('ExecSync', id);
    if (container.state !== 'CONTAINER_RUNNING') throw this.#unknown('ExecSync', 'container is not running');
    await this.#time(10, 2_500);
    return { exitCode: this.#random.pick([0, 1]) };
  }

  async #remove(id: string) {
    const container = this.#containers.get(id);
    if (container === undefined) return {};
    if (container.state === 'CONTAINER_RUNNING') this.#exit(container, 137, 'Error', false);
    await this.#time(1, 10);
    this.#forget(container);
    return {};
  }

  async #stopSandbox(id: string) {
    const sandbox = this.#sandbox('StopPodSandbox', id);
    for (const container of this.#containers.values()) {
      if (container.sandbox === sandbox) this.#exit(container, 137, 'Error', false);
    }
    await this.#removeNetwork('StopPodSandbox', sandbox);
    await this.#time(5, 20);
    sandbox.ready = false;
    this.#hint(id, 'stopped');
    return {};
  }

  async #removeSandbox(id: string) {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) return {};
    await this.#stopSandbox(id);
    for (const container of [...this.#containers.values()]) if (container.sandbox === sandbox) this.#forget(container);
    this.#sandboxes.delete(id);
    const { name = '', namespace = '', uid = '', attempt = 0 } = sandbox.config.metadata ?? {};
    this.#reserved.delete(`${name}_${namespace}_${uid}_${attempt}`);
    this.#hint(id, 'deleted');
    return {};
  }

  #exit(container: ModelContainer, exitCode: number, reason: string, own: boolean): void {
    if (container.state === 'CONTAINER_EXITED') return;
    const ran = container.state === 'CONTAINER_RUNNING';
    // A container that was created and never started keeps its state when its sandbox is stopped.
    if (!ran && reason !== 'StartError') return;
    container.state = 'CONTAINER_EXITED';
    container.finishedAt = this.#nanos();
    container.exitCode = exitCode;
    container.reason = reason;
    const { name = '', attempt = 0 } = container.config.metadata ?? {};
    this.#deed('exit', container.sandbox.config.metadata?.uid ?? '', name, attempt, container.id, { own, exitCode });
    for (const resolve of container.onExit.splice(0)) resolve();
    this.#hint(container.id, 'stopped');
  }

  #forget(container: ModelContainer): void {
    this.#containers.delete(container.id);
    const { name = '', attempt = 0 } = container.config.metadata ?? {};
    const uid = container.sandbox.config.metadata?.uid ?? '';
    this.#reserved.delete(`${name}_${uid}_${attempt}`);
    this.#deed('remove', uid, name, attempt, container.id);
    this.#hint(container.id, 'deleted');
  }

  #reserve(method: UnaryCriMethod, name: string): string {
    const holder = this.#reserved.get(name);
    if (holder !== undefined)
      throw this.#unknown(method, `failed to reserve name: name "${name}" is reserved for "${holder}"`);
    this.#ids += 1;
    const id = this.#ids.toString(16).padStart(64, '0');
    this.#reserved.set(name, id);
    return id;
  }

  #mayFail(method: UnaryCriMethod, text: string): void {
    if (this.#random.chance(this.trouble.failedCreate)) throw this.#unknown(method, text);
  }

  #sandbox(method: UnaryCriMethod, id: string): ModelSandbox {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) throw new CriError('NotFound', `no sandbox ${id}`, { method });
    return sandbox;
  }

  #container(method: UnaryCriMethod, id: string): ModelContainer {
    const container = this.#containers.get(id);
    if (container === undefined) throw new CriError('NotFound', `no container ${id}`, { method });
    return container;
  }

  #unknown(method: UnaryCriMethod, text: string): CriError {
    return new CriError('Unknown', text, { method });
  }

  #hint(containerId: string, kind: ContainerHint['kind']): void {
    for (const listener of this.#listeners) {
      if (this.#random.chance(this.trouble.lostEvent)) continue;
      const at = new Date(this.#scheduler.now()).toISOString();
      this.#scheduler.after(this.#random.between(0.5, 10), () => listener({ containerId, kind, at }));
    }
  }

  #deed(
    what: RuntimeDeed['what'],
    uid: string,
    name: string,
    attempt: number,
    id: string,
    exit?: Pick<RuntimeDeed, 'own' | 'exitCode'>,
  ): void {
    this.deeds.push({ what, uid, name, attempt, id, at: this.#scheduler.elapsed(), ...exit });
  }

  #nanos(): bigint {
    return BigInt(Math.round(this.#scheduler.now() * 1000)) * 1000n;
  }

  #time(lowMs: number, highMs: number): Promise<void> {
    return new Promise((resolve) => this.#scheduler.after(this.#random.between(lowMs, highMs), resolve));
  }
}
