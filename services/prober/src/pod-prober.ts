import type { Bus, Cause, Fact } from '@kubus/bus';
import {
  type ContainerProbes,
  type PodProbes,
  type PodWork,
  type ProbeResult,
  type RuntimeContainer,
  type RuntimePod,
} from '@kubus/contracts';
import { isSet, nanosToMs, newestContainer } from '@kubus/pod-lifecycle';
import type { Clock, Logger } from '@kubus/ports';
import type { PodEvents } from '@kubus/service-kit';
import { type ProbeDefinition, type ProbedRun, attemptEvent, erroredEvent, probesOf } from '@kubus/probe';
import { type Outcome, makeAttempt } from './make-attempt.ts';
import type { NetworkProbes } from './network-probes.ts';
import { ProbeLoop } from './probe-loop.ts';
import type { ResultKeeper } from './result-keeper.ts';

export interface PodProberOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly network: NetworkProbes;
  readonly fraction: () => number;
  readonly logger: Logger;
  readonly events: PodEvents;
  readonly keeper: ResultKeeper;
  readonly proberStartedAt: number;
  /** Address of pods in the host's network. */
  readonly nodeIp: string;
  /** The results that an earlier process kept for the pod. */
  readonly kept: PodProbes | undefined;
}

/** The probes of one pod. */
export class PodProber {
  readonly #options: PodProberOptions;
  readonly #loops = new Map<string, ProbeLoop>();
  #work: Fact<PodWork>;
  #runtime: Fact<RuntimePod> | undefined;
  #definitions: readonly ProbeDefinition[];
  /** The running containers, as text. */
  #running = '';

  constructor(work: Fact<PodWork>, options: PodProberOptions) {
    this.#options = options;
    this.#work = work;
    this.#definitions = definitionsOf(work);
  }

  get ref(): PodWork['ref'] {
    return this.#work.value.ref;
  }

  get loops(): Iterable<ProbeLoop> {
    return this.#loops.values();
  }

  /** Takes in the pod's work and its runtime state; undefined: none, or not known yet. */
  update(work: Fact<PodWork>, runtime: Fact<RuntimePod> | undefined): void {
    if (work !== this.#work) this.#definitions = definitionsOf(work);
    this.#work = work;
    this.#runtime = runtime;
    this.#updateLoops();
    // A pod without probes needs no state.
    const containers = this.#definitions.length === 0 ? [] : runtime?.value.containers;
    const running = (containers ?? []).map(({ id, state }) => `${id} ${state}`).join();
    if (running !== this.#running) this.#trigger();
    this.#running = running;
    this.#publish(this.#causes());
  }

  stop(): void {
    for (const loop of this.#loops.values()) loop.stop();
    this.#loops.clear();
  }

  #updateLoops(): void {
    const present = new Set(this.#definitions.map(loopKey));
    for (const [key, loop] of this.#loops) {
      if (present.has(key)) continue;
      loop.stop();
      this.#loops.delete(key);
    }
    const { work, pod } = this.#work.value;
    const ending = work === 'kill' || isSet(pod?.metadata.deletionTimestamp);
    // A container's startup probe comes first: its result decides on the others.
    for (const definition of this.#definitions) {
      const { container, kind } = definition;
      const run = runOf(newestContainer(this.#runtime?.value, container.name));
      const kept = run === undefined ? undefined : this.#options.kept?.containers[run.id]?.[kind];
      this.#loop(definition).update(definition, { run, ending, started: this.#started(definition) }, kept);
    }
  }

  #loop(definition: ProbeDefinition): ProbeLoop {
    const key = loopKey(definition);
    const known = this.#loops.get(key);
    if (known !== undefined) return known;
    const { clock, fraction, proberStartedAt } = this.#options;
    const made = new ProbeLoop(definition, {
      ...{ clock, fraction, proberStartedAt },
      make: (present, run, cancelled) => this.#make(present, run, cancelled),
      onOutcome: (present, outcome, previous) => this.#onOutcome(present, outcome, previous),
    });
    this.#loops.set(key, made);
    return made;
  }

  #started({ container }: ProbeDefinition): boolean {
    if (container.startupProbe === undefined) return true;
    return this.#loops.get(`startup ${container.name}`)?.state.result === 'success';
  }

  #make(definition: ProbeDefinition, run: ProbedRun, cancelled: AbortSignal): Promise<Outcome> {
    const { bus, network } = this.#options;
    const target = { podUid: this.ref.uid, podIp: this.#address(run), containerId: run.id, causes: this.#causes() };
    return makeAttempt(definition, target, { bus, network, cancelled });
  }

  #address(run: ProbedRun): string | undefined {
    const { value } = this.#runtime ?? {};
    const sandboxId = value?.containers.find(({ id }) => id === run.id)?.sandboxId;
    const ip = value?.sandboxes.find(({ id }) => id === sandboxId)?.ips[0];
    return ip ?? (this.#work.value.pod?.spec.hostNetwork === true ? this.#options.nodeIp : undefined);
  }

  #onOutcome(definition: ProbeDefinition, outcome: Outcome, previous: ProbeResult): void {
    this.#reportFailure(definition, outcome);
    const loop = this.#loops.get(loopKey(definition));
    if (loop === undefined || loop.state.result === previous) return;
    this.#updateLoops();
    this.#publish(outcome.kind === 'made' ? outcome.causes : this.#causes());
  }

  /** Reports failed probes as Kubernetes events and in the log. */
  #reportFailure({ container, kind, fieldPath }: ProbeDefinition, outcome: Outcome): void {
    const { events, logger } = this.#options;
    const fields = { container: container.name, probe: kind };
    if (outcome.kind === 'lost') {
      logger.warn({ ...fields, err: outcome.error }, 'probe errored; retrying at its next period');
      return;
    }
    const event = outcome.kind === 'made' ? attemptEvent(kind, outcome.attempt) : erroredEvent(kind, outcome.error);
    if (event === undefined) return;
    // The text of the event may be output of the container, which is no part of logs.
    logger.info({ ...fields, reason: event.reason }, 'the outcome of a probe is an event of the pod');
    const { ref } = this;
    const causes = outcome.kind === 'made' ? outcome.causes : this.#causes();
    events.record({ ref, type: 'Warning', ...event, fieldPath }, causes);
  }

  #trigger(): void {
    for (const loop of this.#loops.values()) loop.trigger();
  }

  /** Until the runtime state has been received, the results of an earlier process stay. */
  #publish(causes: readonly Cause[]): void {
    if (this.#runtime === undefined) return;
    const { keeper } = this.#options;
    const containers: Record<string, ContainerProbes> = {};
    for (const { definition, state } of this.#loops.values()) {
      if (state.runId !== undefined) {
        containers[state.runId] = { ...containers[state.runId], [definition.kind]: state.result };
      }
    }
    if (Object.keys(containers).length > 0) keeper.put({ ref: this.ref, containers }, causes);
    else keeper.remove(this.ref.uid, causes);
  }

  #causes(): readonly Cause[] {
    return this.#runtime === undefined ? [this.#work.cause] : [this.#runtime.cause, this.#work.cause];
  }
}

function definitionsOf({ value: { pod } }: Fact<PodWork>): ProbeDefinition[] {
  return pod === undefined ? [] : probesOf(pod);
}

function loopKey({ kind, container }: ProbeDefinition): string {
  return `${kind} ${container.name}`;
}

function runOf(container: RuntimeContainer | undefined): ProbedRun | undefined {
  if (container === undefined) return undefined;
  const { id, state, startedAt } = container;
  return { id, state, startedAt: nanosToMs(startedAt) };
}
