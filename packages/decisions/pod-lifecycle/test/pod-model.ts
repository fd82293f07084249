import type { Container, Pod, RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';
import {
  ANNOTATION,
  type PodActions,
  type ProbeResult,
  containerHash,
  findContainer,
  isSidecar,
  mayRun,
  podActions,
} from '../src/index.ts';
import { run, runtime, sandbox } from './states.ts';

type MutableResults = Record<'startup' | 'liveness', Map<string, ProbeResult>>;

/**
 * A runtime in memory that executes what podActions decides, one effect at a time, so that a sync can be interrupted
 * between any two. It throws as soon as an effect is one that must never happen.
 */
export class PodModel {
  pod: Pod;
  readonly probes: MutableResults = { startup: new Map(), liveness: new Map() };
  /** Everything that was started, as `<name>#<attempt>`. */
  readonly started: string[] = [];
  #sandboxes: RuntimeSandbox[] = [];
  #containers: RuntimeContainer[] = [];
  readonly #logIndexes = new Map<string, number>();
  /** Init containers that have succeeded in the current sandbox, since the pod was last restarted as a whole. */
  readonly #done = new Set<string>();
  /** Those of them of which nothing is left; they may run again when nothing later shows that they have succeeded. */
  readonly #forgotten = new Set<string>();

  constructor(pod: Pod) {
    this.pod = pod;
  }

  get runtime(): RuntimePod {
    return runtime(structuredClone(this.#containers), structuredClone(this.#sandboxes));
  }

  get running(): RuntimeContainer[] {
    return this.#containers.filter(mayRun);
  }

  get readySandboxes(): RuntimeSandbox[] {
    return this.#sandboxes.filter(({ ready }) => ready);
  }

  decide(): PodActions {
    return podActions(this.pod, this.#containers.length + this.#sandboxes.length === 0 ? undefined : this.runtime, {
      probes: { ...this.probes, readiness: new Map() },
      logIndexes: this.#logIndexes,
      restartAllContainers: true,
    });
  }

  /** Decides and acts; is interrupted after `most` effects. */
  pass(most = Infinity): PodActions {
    const actions = this.decide();
    let effects = 0;
    for (const effect of this.#effects(actions)) {
      if (effects >= most) break;
      effects += 1;
      effect();
    }
    return actions;
  }

  exit(id: string, exitCode: number): void {
    this.#change(id, { state: 'exited', exitCode, finishedAt: '3', reason: exitCode === 0 ? 'Completed' : 'Error' });
    const ended = this.#containers.find((one) => one.id === id);
    const container = ended === undefined ? undefined : findContainer(this.pod, ended.name)?.container;
    if (container !== undefined && exitCode === 0 && !isSidecar(container)) this.#done.add(container.name);
  }

  probe(kind: 'startup' | 'liveness', id: string, result: ProbeResult): void {
    this.probes[kind].set(id, result);
    this.#noteStartedSidecars();
  }

  loseState(id: string): void {
    this.#change(id, { state: 'unknown' });
  }

  /** Removes an ended container, as garbage collection does. */
  collect(id: string): void {
    const dead = this.#containers.find((one) => one.id === id && !mayRun(one));
    if (dead !== undefined) this.#forgotten.add(dead.name);
    this.#containers = this.#containers.filter((one) => one.id !== id || mayRun(one));
  }

  killSandbox(): void {
    this.#sandboxes = this.#sandboxes.map((one) => ({ ...one, ready: false, ips: [] }));
    for (const { id } of this.running) this.exit(id, 137);
  }

  *#effects(actions: PodActions): Generator<() => void> {
    const stops = actions.killPod ? this.running : actions.stop.map(({ container }) => container);
    for (const { id } of stops) {
      yield () => {
        if (this.#containers.some((one) => one.id === id && mayRun(one))) this.exit(id, 137);
      };
    }
    if (actions.killPod) yield () => this.killSandbox();
    if (actions.restartAll) this.#done.clear();
    for (const { id, name } of actions.remove.containers) {
      yield () => {
        if (this.#containers.some((one) => one.id === id && mayRun(one)))
          throw new Error(`${name} removed while it is running`);
        this.collect(id);
      };
    }
    const gone = new Set(actions.remove.sandboxes.map(({ id }) => id));
    yield () => (this.#sandboxes = this.#sandboxes.filter(({ id }) => !gone.has(id)));
    const { createSandbox } = actions;
    if (createSandbox !== undefined) yield () => this.#createSandbox(createSandbox.attempt);
    for (const { container, attempt, created } of actions.start) {
      if (created === undefined) yield () => this.#create(container, attempt);
      yield () => this.#start(container, attempt);
    }
  }

  #createSandbox(attempt: number): void {
    if (this.readySandboxes.length > 0) throw new Error('a second sandbox next to a usable one');
    this.#sandboxes.unshift(sandbox({ id: `s${attempt}`, attempt }));
    this.#done.clear();
  }

  #create(container: Container, attempt: number): void {
    const { name, image = '' } = container;
    const known = this.#logIndexes.get(name) ?? -1;
    if (attempt <= known) throw new Error(`attempt ${attempt} of ${name} after ${known}`);
    this.#logIndexes.set(name, attempt);
    const sandboxId = this.readySandboxes[0]?.id;
    if (sandboxId === undefined) throw new Error(`${name} created without a sandbox`);
    const annotations = { [ANNOTATION.hash]: containerHash({ name, image }) };
    this.#containers.unshift(run({ name, attempt, image, sandboxId, annotations, state: 'created', startedAt: '0' }));
  }

  #start(container: Container, attempt: number): void {
    const { name } = container;
    if (this.running.some((one) => one.name === name)) throw new Error(`${name} started while it is running`);
    const inits = this.pod.spec.initContainers ?? [];
    const own = inits.findIndex((one) => one.name === name);
    const before = own === -1 ? inits : inits.slice(0, own);
    const ephemeral = findContainer(this.pod, name)?.kind === 'ephemeral';
    const skipped = before.find((one) => !this.#done.has(one.name));
    if (!ephemeral && skipped !== undefined) throw new Error(`${name} started before ${skipped.name} was done`);
    const again = this.#done.has(name) && !this.#forgotten.has(name);
    if (own !== -1 && again && !isSidecar(container)) throw new Error(`${name} started after it was done`);
    this.started.push(`${name}#${attempt}`);
    this.#change(`${name}-${attempt}`, { state: 'running', startedAt: '2' });
    this.#noteStartedSidecars();
  }

  /** A sidecar counts as done once it has started, even if it ends later. */
  #noteStartedSidecars(): void {
    for (const { id, name, state } of this.#containers) {
      const container = this.pod.spec.initContainers?.find((one) => one.name === name);
      if (container === undefined || !isSidecar(container) || state !== 'running') continue;
      if (container.startupProbe === undefined || this.probes.startup.get(id) === 'success') this.#done.add(name);
    }
  }

  #change(id: string, change: Partial<RuntimeContainer>): void {
    this.#containers = this.#containers.map((one) => (one.id === id ? { ...one, ...change } : one));
  }
}
