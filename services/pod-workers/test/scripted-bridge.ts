import type { Bus, FactOwner } from '@kubus/bus';
import { completeContainer } from '@kubus/container-config';
import {
  type CriRequest,
  type CriResult,
  type FencedMethod,
  type RuntimeContainer,
  type RuntimePod,
  type RuntimeSandbox,
  type Stamp,
  criCommands,
  fencePod,
  findImage,
  objectKey,
  pullImage,
  readPod,
  runtimePod,
} from '@kubus/contracts';
import { type Clock, KubusError } from '@kubus/ports';
import type { ContainerConfig, Image, LinuxContainerResources, PodSandboxConfig } from '@kubus/proto/cri';

interface Things {
  readonly ref: RuntimePod['ref'];
  sandboxes: RuntimeSandbox[];
  containers: RuntimeContainer[];
}

/** cri-bridge with a runtime in which everything succeeds at once, unless the test says otherwise. */
export class ScriptedBridge {
  /** The commands that were carried out, with their subjects. */
  readonly done: string[] = [];
  readonly images = new Set(['busybox:latest']);
  /** The images of each request for them. */
  readonly searches: string[][] = [];
  /** Images that cannot be looked up with others. */
  readonly unreadable = new Set<string>();
  /** Images that exist and that no pod may use before it has pulled them. */
  readonly guarded = new Set<string>();
  /** The exit code of a command that is run in a container. */
  execExitCode: (what: string) => Promise<number> = () => Promise.resolve(0);
  /** The containers' configurations, the last one of each name. */
  readonly configs = new Map<string, ContainerConfig>();
  /** The data of Secrets and ConfigMaps, by key. */
  readonly objects: Record<string, Record<string, string>> = {};
  /** The configuration of the last sandbox. */
  sandboxConfig: PodSandboxConfig | undefined;
  /** The user that images define. */
  imageUser: Pick<Image, 'uid' | 'username'> = {};
  /** The exit code of stopped containers. */
  stopExitCode = 143;
  /** The error with which a command fails, or what it waits for before it is carried out. */
  before: (what: string) => Promise<void> = () => Promise.resolve();
  /** Bytes of memory that each container uses. */
  memoryUsage = '0';
  /** What a container was last resized to. */
  resized: LinuxContainerResources | undefined;
  /** The last limits of a cgroup, so that only changes are recorded. */
  #cgroup = '';
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #pods = new Map<string, Things>();
  readonly #facts: FactOwner<RuntimePod>;
  #counter = 0;
  #ids = 0;

  constructor(bus: Bus, clock: Clock) {
    this.#bus = bus;
    this.#clock = clock;
    this.#facts = bus.owner(runtimePod);
    bus.serve(fencePod, async ({ key, source, request }) => {
      await this.before('fence');
      await bus.fence(key, source, request.hold, request.term);
      return this.#read(key);
    });
    bus.serve(readPod, async ({ key }) => {
      await this.before('read');
      return this.#read(key);
    });
    this.#serveCreates();
    this.#serveEnds();
    this.#serveImages();
    this.#serveResizes();
  }

  /** Sets the limits of a pod's cgroup; recorded when they change and are not those of its first sandbox. */
  cgroup(limits: string): void {
    if (this.#cgroup !== '' && this.#cgroup !== limits) this.done.push(`cgroup ${limits}`);
    this.#cgroup = limits;
  }

  /** The runtime state of a pod. */
  pod(uid: string): Things | undefined {
    return this.#pods.get(uid);
  }

  /** The pod's state as read now. */
  read(uid: string): RuntimePod {
    const { pod } = this.#read(uid);
    if (pod === undefined) throw new Error(`the runtime has no pod ${uid}`);
    return structuredClone(pod);
  }

  /** Publishes an earlier state of the pod, as the store has it of a bridge that was killed before it published the later ones. */
  publishEarlier(pod: RuntimePod): void {
    this.#facts.put(pod.ref.uid, pod, { pod: pod.ref.uid });
  }

  /** A container exits by itself. */
  exit(uid: string, name: string, exitCode: number): void {
    const container = this.#things(uid).containers.find((one) => one.name === name && one.state !== 'exited');
    if (container === undefined) throw new Error(`${name} has ended already`);
    this.#change(uid, container.id, { state: 'exited', exitCode, finishedAt: this.#now() });
    this.#publish(uid);
  }

  /** What was being started when the pod was stopped runs after all, and its sandbox with it. */
  startLate(uid: string, name: string): void {
    const things = this.#things(uid);
    things.sandboxes = things.sandboxes.map((one) => ({ ...one, ready: true }));
    for (const { id } of things.containers.filter((one) => one.name === name))
      this.#change(uid, id, { state: 'running' });
    this.#publish(uid);
  }

  /** The runtime loses everything of the pod. */
  vanish(uid: string): void {
    this.#pods.delete(uid);
    this.#publish(uid);
  }

  /** The pod's sandbox ends by itself, as after a crash of its process. */
  loseSandbox(uid: string): void {
    const things = this.#things(uid);
    things.sandboxes = things.sandboxes.map((one) => ({ ...one, ready: false }));
    for (const { id, state } of things.containers) {
      if (state === 'running') this.#change(uid, id, { state: 'exited', exitCode: 137, finishedAt: this.#now() });
    }
    this.#publish(uid);
  }

  #serveCreates(): void {
    this.#serve('RunPodSandbox', (uid, { config }) => {
      this.sandboxConfig = config;
      const { name = '', namespace = '', attempt = 0 } = config?.metadata ?? {};
      const id = `s${++this.#ids}`;
      const hostNetwork = config?.linux?.securityContext?.namespaceOptions?.network === 'NODE';
      const things = this.#pods.get(uid) ?? { ref: { uid, name, namespace }, sandboxes: [], containers: [] };
      this.#pods.set(uid, things);
      const sandbox = { id, attempt, ready: true, createdAt: this.#now(), hostNetwork, runtimeHandler: '' };
      things.sandboxes.unshift({ ...sandbox, ips: hostNetwork ? [] : ['10.0.0.2'] });
      return { podSandboxId: id };
    });
    this.#serve('CreateContainer', (uid, { podSandboxId = '', config }, process) => {
      const id = `c${++this.#ids}`;
      const { name = '', attempt = 0 } = config?.metadata ?? {};
      const image = config?.image?.image ?? '';
      if (config !== undefined && process !== undefined) {
        const values = new Map(process.objects.map((one) => [objectKey(one), this.objects[objectKey(one)]]));
        this.configs.set(
          name,
          completeContainer({ config, process }, (one) => values.get(objectKey(one))),
        );
      }
      this.#things(uid).containers.unshift({
        ...{ id, name, attempt, sandboxId: podSandboxId, state: 'created', createdAt: this.#now() },
        ...{
          startedAt: '0',
          finishedAt: '0',
          exitCode: 0,
          reason: '',
          message: '',
          logPath: `/logs/${name}/${attempt}`,
        },
        ...{ image, imageRef: image, imageId: image, annotations: config?.annotations ?? {} },
      });
      return { containerId: id };
    });
    this.#serve('StartContainer', (uid, { containerId = '' }) => {
      this.#change(uid, containerId, { state: 'running', startedAt: this.#now() });
      return {};
    });
  }

  #serveEnds(): void {
    this.#serve('StopContainer', (uid, { containerId = '' }) => {
      this.#change(uid, containerId, { state: 'exited', exitCode: this.stopExitCode, finishedAt: this.#now() });
      return {};
    });
    this.#serve('StopPodSandbox', (uid, { podSandboxId = '' }) => {
      const things = this.#things(uid);
      things.sandboxes = things.sandboxes.map((one) => (one.id === podSandboxId ? { ...one, ready: false } : one));
      return {};
    });
    this.#serve('RemoveContainer', (uid, { containerId = '' }) => {
      const things = this.#things(uid);
      things.containers = things.containers.filter(({ id }) => id !== containerId);
      return {};
    });
    this.#serve('RemovePodSandbox', (uid, { podSandboxId = '' }) => {
      const things = this.#things(uid);
      things.sandboxes = things.sandboxes.filter(({ id }) => id !== podSandboxId);
      if (things.sandboxes.length === 0 && things.containers.length === 0) this.#pods.delete(uid);
      return {};
    });
  }

  #serveResizes(): void {
    this.#serve('UpdateContainerResources', (_uid, { linux }) => {
      this.resized = linux;
      return {};
    });
    this.#bus.serve(criCommands.UpdatePodSandboxResources, ({ key }) => {
      const { epoch, counter } = this.#stamp();
      if (this.#pods.has(key)) this.#publish(key);
      const context = { endEpoch: epoch, endCounter: counter };
      return Promise.reject(new KubusError('Unimplemented', 'unknown method', { context }));
    });
    this.#bus.serve(criCommands.ContainerStats, () => {
      const stats = { memory: { usageBytes: { value: this.memoryUsage } } };
      return Promise.resolve({ response: { stats }, at: this.#stamp() });
    });
  }

  #serveImages(): void {
    this.#bus.serve(criCommands.ExecSync, async ({ request }) => {
      const { containerId, cmd = [] } = request.params;
      const what = `ExecSync ${containerId} ${cmd.join(' ')}`;
      this.done.push(what);
      const exitCode = await this.execExitCode(what);
      const output = Buffer.from('a secret').toString('base64');
      return { response: { exitCode, stdout: output, stderr: output }, at: this.#stamp() };
    });
    const found = (name: string): Image | undefined =>
      this.images.has(name) ? { id: `id of ${name}`, size: '7', ...this.imageUser } : undefined;
    const find = (name: string) => {
      const image = found(name);
      return { mayUse: image !== undefined && !this.guarded.has(name), ...(image !== undefined && { image }) };
    };
    this.#bus.serve(findImage, async ({ request: { image, others = [] } }) => {
      const names = [image, ...others];
      this.searches.push(names);
      await this.before(`findImage ${names.join(' ')}`);
      const rest = others.filter((name) => !this.unreadable.has(name)).map((name) => [name, find(name)] as const);
      return { ...find(image), ...(rest.length > 0 && { others: Object.fromEntries(rest) }) };
    });
    this.#bus.serve(pullImage, async ({ request }) => {
      const { image: name } = request;
      await this.before(`pullImage ${name}`);
      this.done.push(`pullImage ${name}`);
      this.images.add(name);
      return { imageRef: name, image: found(name), pullMs: 0 };
    });
  }

  #serve<M extends FencedMethod>(
    method: M,
    act: (uid: string, params: CriRequest<M>['params'], process: CriRequest<M>['process']) => CriResult<M>['response'],
  ): void {
    this.#bus.serve(criCommands[method], async (command) => {
      const { key, request } = command;
      const what = [method, ...namesIn(request.params)].join(' ');
      if (!command.begin()) throw new KubusError('dropped', `${method} was dropped`);
      try {
        await this.before(what);
      } catch (error) {
        const { code, message } = error as KubusError;
        const { epoch, counter } = this.#stamp();
        if (this.#pods.has(key)) this.#publish(key);
        throw new KubusError(code, message, { context: { endEpoch: epoch, endCounter: counter } });
      }
      const response = act(key, request.params, request.process);
      this.done.push(what);
      const at = this.#stamp();
      if (method === 'RunPodSandbox') return { response, at, pod: await this.#readAfterRun(key) };
      this.#publish(key);
      return { response, at };
    });
  }

  /** The pod, unless it cannot be read. */
  async #readAfterRun(uid: string): Promise<RuntimePod | undefined> {
    try {
      await this.before('read');
    } catch {
      return undefined;
    }
    return this.#publish(uid);
  }

  #things(uid: string): Things {
    const things = this.#pods.get(uid);
    if (things === undefined) throw new KubusError('NotFound', `there is no pod ${uid}`);
    return things;
  }

  #change(uid: string, id: string, change: Partial<RuntimeContainer>): void {
    const things = this.#things(uid);
    things.containers = things.containers.map((one) => (one.id === id ? { ...one, ...change } : one));
  }

  #read(uid: string): { pod?: RuntimePod; at: Stamp } {
    const at = this.#stamp();
    const things = this.#pods.get(uid);
    return { at, ...(things !== undefined && { pod: { ...things, stamp: at } }) };
  }

  #publish(uid: string): RuntimePod | undefined {
    const { pod } = this.#read(uid);
    if (pod === undefined) this.#facts.remove(uid, { pod: uid });
    else this.#facts.put(uid, pod, { pod: uid });
    return pod;
  }

  #stamp(): Stamp {
    return { epoch: this.#bus.epoch, counter: ++this.#counter };
  }

  #now(): string {
    return String(BigInt(this.#clock.now()) * 1_000_000n);
  }
}

/** The subject of a call, as text. */
function namesIn(params: object): string[] {
  const { containerId, podSandboxId, timeout, config, linux } = params as {
    linux?: { cpuShares?: string; cpuQuota?: string; memoryLimitInBytes?: string };
    containerId?: string;
    podSandboxId?: string;
    timeout?: string;
    config?: { metadata?: { name?: string; attempt?: number } };
  };
  const { name, attempt = 0 } = config?.metadata ?? {};
  const made = name === undefined ? undefined : `${name}/${attempt}`;
  const size = linux && `${linux.cpuShares ?? '-'} ${linux.cpuQuota ?? '-'} ${linux.memoryLimitInBytes ?? '-'}`;
  return [made ?? containerId ?? podSandboxId, timeout, size].filter((word) => word !== undefined);
}
