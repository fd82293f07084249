import type { Cause, FactOwner } from '@kubus/bus';
import type { MountedVolume, Pod, PodRef, PodVolumes as PodVolumesFact, PodWork, WorkerState } from '@kubus/contracts';
import { type Cancel, type Clock, type Logger, type RecordStore, toError } from '@kubus/ports';
import { type VolumePlan, type VolumeSettings, failedMount, planVolumes, retryWait, volumeGoal } from '@kubus/volume';
import type { VolumeHost } from './ports.ts';
import type { VolumeRecord } from './volume-record.ts';

/** What all pods share. */
export interface PodVolumesDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: RecordStore;
  readonly host: VolumeHost;
  readonly settings: VolumeSettings;
  readonly facts: FactOwner<PodVolumesFact>;
}

/** What is known of a pod. */
export interface KnownPod {
  readonly ref: PodRef | undefined;
  readonly work: Pick<PodWork, 'work' | 'pod'> | undefined;
  readonly worker: WorkerState | undefined;
  /** All works and all workers are known. */
  readonly complete: boolean;
}

/** What a round has found or done. */
interface Outcome {
  readonly ready: boolean;
  readonly volumes: Readonly<Record<string, MountedVolume>>;
  readonly errors: readonly string[];
}

const NOTHING: Outcome = { ready: false, volumes: {}, errors: [] };

/**
 * The volumes of one pod: brought to what its work and its worker ask for, one round at a time, and told as a fact. A round
 * that fails is repeated after a while that grows.
 */
export class PodVolumes {
  readonly uid: string;
  readonly #deps: PodVolumesDeps;
  readonly #onRest: () => void;
  #known: KnownPod = { ref: undefined, work: undefined, worker: undefined, complete: false };
  #causes: readonly Cause[] = [];
  #recorded: boolean;
  /** What the last round was made for, while that round succeeded. */
  #done: string | undefined;
  #outcome = NOTHING;
  #failures = 0;
  #running = false;
  #round: Promise<void> = Promise.resolve();
  #due = false;
  #settled = false;
  #gone = false;
  #timer: Cancel | undefined;
  #stopped = false;

  /**
   * @param recorded an earlier life has written down that the pod has volumes, or some were found
   * @param onRest called after each round
   */
  constructor(uid: string, deps: PodVolumesDeps, options: { recorded: boolean; onRest: () => void }) {
    this.uid = uid;
    this.#deps = { ...deps, logger: deps.logger.child({ podUid: uid }) };
    this.#recorded = options.recorded;
    this.#onRest = options.onRest;
  }

  /** A round has ended and none is under way: what there is of the pod has been told. */
  get settled(): boolean {
    return this.#settled && !this.#running;
  }

  /** Nothing is left, nothing is wanted and nobody speaks of the pod: it can be forgotten. */
  get forgettable(): boolean {
    return this.#gone && !this.#running && this.#known.work === undefined && this.#known.worker === undefined;
  }

  /** Why the last round did not do everything. */
  get error(): string | undefined {
    return this.#outcome.errors[0];
  }

  /** Takes in what is known now, and acts on it. */
  update(known: KnownPod, causes: readonly Cause[]): void {
    this.#known = { ...known, ref: known.ref ?? this.#known.ref };
    this.#causes = causes;
    if (this.#running) this.#due = true;
    else this.#run();
  }

  /** Begins no more rounds; resolves when the one under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.();
    await this.#round;
  }

  #run(): void {
    this.#timer?.();
    this.#due = false;
    if (this.#stopped) return;
    const goal = volumeGoal(this.#known.work, this.#known.worker, this.#known.complete);
    const plans = this.#plans();
    const wanted = JSON.stringify([goal, plans]);
    if (wanted === this.#done) {
      this.#onRest();
      return;
    }
    this.#running = true;
    const round = goal === 'remove' ? this.#remove() : goal === 'make' ? this.#make(plans) : this.#find(plans);
    this.#round = round
      .catch((error: unknown): Outcome => ({ ...this.#outcome, ready: false, errors: [toError(error).message] }))
      .then((outcome) => this.#end(outcome, wanted));
  }

  #end(outcome: Outcome, wanted: string): void {
    this.#running = false;
    this.#settled = true;
    const failed = outcome.errors.length > 0;
    if (failed && outcome.errors.join() !== this.#outcome.errors.join()) {
      this.#deps.logger.warn({ errors: outcome.errors }, 'not all volumes are as they should be; trying again');
    }
    this.#outcome = outcome;
    this.#done = failed ? undefined : wanted;
    this.#failures = failed ? this.#failures + 1 : 0;
    this.#tell();
    if (this.#due) this.#run();
    else if (failed && !this.#stopped) {
      this.#timer = this.#deps.clock.after(retryWait(this.#failures), () => this.#run());
    }
    this.#onRest();
  }

  #plans(): VolumePlan[] | Error {
    const pod: Pod | undefined = this.#known.work?.pod;
    try {
      return pod === undefined ? [] : planVolumes(pod, this.#deps.settings);
    } catch (error) {
      return toError(error);
    }
  }

  async #make(plans: VolumePlan[] | Error): Promise<Outcome> {
    if (plans instanceof Error) throw plans;
    this.#gone = false;
    const ownsSome = plans.some((plan) => 'step' in plan && plan.step.kind !== 'host');
    if (ownsSome) await this.#record();
    const volumes: Record<string, MountedVolume> = {};
    const errors: string[] = [];
    await Promise.all(
      plans.map(async (plan) => {
        try {
          if ('refusal' in plan) errors.push(failedMount(plan.name, plan.refusal));
          else volumes[plan.name] = await this.#deps.host.make(plan.step);
        } catch (error) {
          errors.push(failedMount(plan.name, toError(error).message));
        }
      }),
    );
    return { ready: errors.length === 0, volumes, errors };
  }

  /** What is there, of a pod that gets nothing more. */
  async #find(plans: VolumePlan[] | Error): Promise<Outcome> {
    if (plans instanceof Error) return NOTHING;
    const volumes: Record<string, MountedVolume> = {};
    for (const plan of plans) {
      const found = 'step' in plan ? await this.#deps.host.find(plan.step) : undefined;
      if (found !== undefined) volumes[plan.name] = found;
    }
    const ready = plans.every(({ name }) => volumes[name] !== undefined) && this.#known.work?.pod !== undefined;
    return { ready, volumes, errors: [] };
  }

  async #remove(): Promise<Outcome> {
    const { host, records } = this.#deps;
    if (this.#recorded) {
      await host.remove(this.uid);
      await records.delete(this.uid);
      this.#recorded = false;
    }
    this.#gone = true;
    return NOTHING;
  }

  async #record(): Promise<void> {
    const { ref } = this.#known;
    if (this.#recorded || ref === undefined) return;
    const record: VolumeRecord = { version: 1, ref };
    await this.#deps.records.put(this.uid, record);
    this.#recorded = true;
  }

  #tell(): void {
    const { facts } = this.#deps;
    const { ref } = this.#known;
    const about = { pod: this.uid, causes: this.#causes };
    if (this.#gone) facts.remove(this.uid, about);
    else if (ref !== undefined) {
      const { ready, volumes, errors } = this.#outcome;
      facts.put(this.uid, { ref, ready, volumes, ...(errors.length > 0 && { errors: [...errors] }) }, about);
    }
  }
}
