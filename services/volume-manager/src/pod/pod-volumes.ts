import type { Cause, FactOwner } from '@kubus/bus';
import type { MountedVolume, PodRef, PodVolumes as PodVolumesFact } from '@kubus/contracts';
import { type Cancel, type Clock, KubusError, type Logger, type RecordStore, toError } from '@kubus/ports';
import type { PodEvents } from '@kubus/service-kit';
import { type VolumeGoal, type VolumePlan, type VolumeStep, limitedFolders, retryWait } from '@kubus/volume';
import type { VolumeHost, VolumeEvent } from '../ports.ts';
import { SizeWatch } from './size-watch.ts';
import { VolumeLane } from './volume-lane.ts';
import type { VolumeRecord } from './volume-record.ts';

/** What all pods share. */
export interface PodVolumesDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: RecordStore;
  readonly host: VolumeHost;
  readonly facts: FactOwner<PodVolumesFact>;
  readonly events: PodEvents;
  /** Volumes are measured that have a size limit (localStorageCapacityIsolation). */
  readonly sizeLimits: boolean;
}

/** One volume of a pod that can be made, and where it is mounted, if it is. */
export interface PodVolume {
  /** UID of the pod. */
  readonly uid: string;
  readonly name: string;
  readonly step: VolumeStep;
  readonly mounted: MountedVolume | undefined;
}

/** The volumes that a pod should have. */
export interface DesiredVolumes {
  readonly ref: PodRef | undefined;
  readonly goal: VolumeGoal;
  /** The volumes that the pod needs, or why they cannot be planned; undefined when the pod is no longer desired. */
  readonly plans: readonly VolumePlan[] | Error | undefined;
}

/** How long the first fact about a pod's volumes may wait for their state, in milliseconds: a volume may hang. */
const FIRST_PUBLISH_MS = 2_000;

/**
 * The volumes of one pod: reconciled with its desired pod and its worker's state, each volume in its own lane, and
 * published as a fact. They are removed together, when no volume is being made any more.
 */
export class PodVolumes {
  readonly uid: string;
  readonly #deps: PodVolumesDeps;
  readonly #onRest: () => void;
  readonly #lanes = new Map<string, VolumeLane>();
  readonly #sizes: SizeWatch;
  /** Why the pod is to be evicted; stays set, whatever happens to the volume. */
  #excess: string | undefined;
  #desired: DesiredVolumes = { ref: undefined, goal: 'keep', plans: undefined };
  #causes: readonly Cause[] = [];
  #recorded: boolean;
  /** Why no volume can be made, or not all can be removed. */
  #error: string | undefined;
  #failures = 0;
  /** Ends with the last user of the volumes. */
  #uses: Promise<void> = Promise.resolve();
  #running: Promise<void> | undefined;
  #due = false;
  #removed = false;
  /** Some volumes may be removed already, whatever their lanes report: the removal is running or has failed. */
  #removing = false;
  /** The fact as last published, as JSON; `removed` after its removal, and for a pod that needs none. */
  #lastPublished: string | undefined;
  #timer: Cancel | undefined;
  #firstPublish: Cancel | undefined;
  #stopped = false;

  /**
   * @param recorded an earlier process recorded volumes of the pod, or some were found
   * @param onRest called each time an operation has ended
   */
  constructor(uid: string, deps: PodVolumesDeps, options: { recorded: boolean; onRest: () => void }) {
    this.uid = uid;
    this.#deps = { ...deps, logger: deps.logger.child({ podUid: uid }) };
    this.#recorded = options.recorded;
    this.#onRest = options.onRest;
    const exceeded = (message: string) => {
      this.#excess = message;
      this.#changed();
    };
    this.#sizes = new SizeWatch({ clock: deps.clock, host: deps.host, exceeded });
  }

  /** The state of the pod's volumes has been published. */
  get settled(): boolean {
    return this.#lastPublished !== undefined;
  }

  /** Nothing is left and nothing is desired. */
  get forgettable(): boolean {
    return this.#removed && this.#running === undefined && this.#desired.goal !== 'make';
  }

  /** The first error of the pod's volumes. */
  get error(): string | undefined {
    return this.#errors[0];
  }

  /** The volumes that can be made: their plans have a step. */
  get volumes(): PodVolume[] {
    const { plans } = this.#desired;
    const steps = Array.isArray(plans) ? plans.filter((plan: VolumePlan) => 'step' in plan) : [];
    return steps.map(({ name, step }) => ({ uid: this.uid, name, step, mounted: this.#lanes.get(name)?.mounted }));
  }

  /** Takes in the desired volumes and acts on them. */
  update(desired: DesiredVolumes, causes: readonly Cause[]): void {
    this.#desired = { ...desired, ref: desired.ref ?? this.#desired.ref };
    this.#causes = causes;
    this.#firstPublish ??= this.#deps.clock.after(FIRST_PUBLISH_MS, () => this.#publish());
    this.#run();
    // Desired again during the removal: the published state of the volumes is outdated.
    if (this.#removing && desired.goal !== 'remove' && this.settled) this.#publish();
  }

  /**
   * Does something with the mounted volumes, one such action at a time: no volume is removed before it has ended.
   *
   * @throws KubusError `VolumesNotReady` when the pod is not, or no longer, to have volumes.
   */
  async use<T>(act: (volumes: Readonly<Record<string, MountedVolume>>) => Promise<T>): Promise<T> {
    while (this.#running !== undefined) await this.#running;
    const use = this.#uses.then(async () => {
      if (this.#desired.goal !== 'make' || this.#stopped) throw new KubusError('VolumesNotReady', 'the pod is ending');
      // What `act` makes has to be removed later, even if the pod has no volume on disk.
      await this.#record();
      return act(this.#mounted);
    });
    this.#uses = use.then(
      () => undefined,
      () => undefined,
    );
    return use;
  }

  /** Starts nothing more; resolves when running operations have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.();
    this.#firstPublish?.();
    this.#sizes.watch([]);
    await this.#running;
    await Promise.all([this.#uses, ...[...this.#lanes.values()].map((lane) => lane.pause())]);
  }

  /** One change of goal at a time; volumes are made in the lanes. */
  #run(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) {
      this.#due = true;
      return;
    }
    this.#timer?.();
    this.#running = this.#reconcile()
      .then(
        () => {
          this.#error = undefined;
          this.#failures = 0;
        },
        (error: unknown) => this.#fail(toError(error)),
      )
      .then(() => {
        this.#running = undefined;
        const again = this.#due;
        this.#due = false;
        if (again) this.#run();
        this.#changed();
      });
  }

  async #reconcile(): Promise<void> {
    const { goal, plans = [] } = this.#desired;
    const isMade = goal === 'make' && Array.isArray(plans) && this.#excess === undefined;
    this.#sizes.watch(isMade && this.#deps.sizeLimits ? limitedFolders(plans) : []);
    if (goal === 'remove') return this.#remove();
    if (plans instanceof Error) throw plans;
    if (this.#removing) {
      this.#lanes.clear();
      this.#removing = false;
    }
    if (goal === 'keep') {
      await Promise.all(plans.map((plan) => this.#lane(plan).find(plan)));
      return;
    }
    this.#removed = false;
    if (plans.some((plan) => 'step' in plan && plan.step.kind !== 'host')) await this.#record();
    if (this.#stopped) return;
    const names = new Set(plans.map(({ name }) => name));
    for (const [name, lane] of this.#lanes) if (!names.has(name)) void lane.pause();
    for (const plan of plans) this.#lane(plan).make(plan);
  }

  async #remove(): Promise<void> {
    const { host, records } = this.#deps;
    this.#removing = true;
    await Promise.all([this.#uses, ...[...this.#lanes.values()].map((lane) => lane.pause())]);
    if (this.#recorded) {
      await host.remove(this.uid);
      await records.delete(this.uid);
      this.#recorded = false;
    }
    this.#lanes.clear();
    this.#excess = undefined;
    this.#removing = false;
    this.#removed = true;
  }

  #fail(error: Error): void {
    if (error.message !== this.#error) this.#deps.logger.warn({ err: error }, 'pod volumes cannot be reconciled');
    this.#error = error.message;
    this.#failures += 1;
    if (!this.#stopped) this.#timer = this.#deps.clock.after(retryWait(this.#failures), () => this.#run());
  }

  #lane(plan: VolumePlan): VolumeLane {
    const present = this.#lanes.get(plan.name);
    if (present !== undefined) return present;
    const { clock, host, logger } = this.#deps;
    const lane = new VolumeLane(plan, {
      clock,
      host,
      changed: () => this.#changed(),
      report: (event) => {
        const about = { volume: plan.name, reason: event.reason };
        if (event.type === 'Normal') logger.info(about, event.message);
        else logger.warn(about, event.message);
        this.#recordEvent(event);
      },
    });
    this.#lanes.set(plan.name, lane);
    return lane;
  }

  async #record(): Promise<void> {
    const { ref } = this.#desired;
    if (this.#recorded || ref === undefined) return;
    const record: VolumeRecord = { version: 1, ref };
    await this.#deps.records.put(this.uid, record);
    this.#recorded = true;
  }

  #recordEvent(event: VolumeEvent): void {
    const { ref } = this.#desired;
    if (ref !== undefined) this.#deps.events.record({ ref, type: 'Warning', ...event }, this.#causes);
  }

  /** The lanes of the volumes that the pod needs now; all lanes when the pod is no longer desired. */
  get #current(): (readonly [string, VolumeLane])[] {
    const { plans } = this.#desired;
    const names = Array.isArray(plans) ? new Set(plans.map(({ name }: VolumePlan) => name)) : undefined;
    return [...this.#lanes].filter(([name]) => names?.has(name) !== false);
  }

  get #mounted(): Record<string, MountedVolume> {
    return Object.fromEntries(
      this.#current.flatMap(([name, { mounted }]) => (mounted === undefined ? [] : [[name, mounted] as const])),
    );
  }

  get #errors(): string[] {
    const ofLanes = this.#current.map(([, { error }]) => error);
    return [this.#error, ...ofLanes].filter((error) => error !== undefined);
  }

  #changed(): void {
    const isKnown = this.#running === undefined && this.#current.every(([, { settled }]) => settled);
    if (isKnown || this.settled) this.#publish();
    this.#onRest();
  }

  #publish(): void {
    this.#firstPublish?.();
    const { facts } = this.#deps;
    const about = { pod: this.uid, causes: this.#causes };
    const needsNone = this.#needsNone;
    const fact = this.#removed || needsNone ? undefined : this.#fact();
    const text = fact === undefined ? 'removed' : JSON.stringify(fact);
    if (text === this.#lastPublished) return;
    const { ref } = this.#desired;
    if (this.#lastPublished === undefined && needsNone) {
      this.#lastPublished = text;
      return;
    }
    // A fact of an earlier process can be removed only by an owner that has published it itself.
    if (fact === undefined && this.#lastPublished === undefined && ref !== undefined)
      facts.put(this.uid, { ref, ready: false, volumes: {} }, about);
    this.#lastPublished = text;
    if (fact === undefined) facts.remove(this.uid, about);
    else facts.put(this.uid, fact, about);
  }

  /** The pod needs no volume, and none was made for it: there is nothing to publish. */
  get #needsNone(): boolean {
    const { plans } = this.#desired;
    const isPublished = this.#lastPublished !== undefined && this.#lastPublished !== 'removed';
    if (!Array.isArray(plans) || plans.length > 0 || isPublished) return false;
    return !this.#recorded && this.#lanes.size === 0 && this.#error === undefined;
  }

  #fact(): PodVolumesFact | undefined {
    const { ref, plans } = this.#desired;
    if (ref === undefined) return undefined;
    const lanes = this.#current;
    const volumes = this.#mounted;
    const isMounted = ({ name }: VolumePlan) => volumes[name] !== undefined;
    const ready = Array.isArray(plans) && plans.every(isMounted) && this.#error === undefined && !this.#removing;
    const errors = this.#errors;
    const awaits = lanes.flatMap(([, { awaits: what }]) => what ?? []);
    const groups = new Set(Array.isArray(plans) ? plans.flatMap(({ gid }: VolumePlan) => gid ?? []) : []);
    return {
      ...{ ref, ready, volumes },
      ...(errors.length > 0 && { errors }),
      ...(awaits.length > 0 && { awaits }),
      ...(groups.size > 0 && { supplementalGroups: [...groups] }),
      ...(this.#excess !== undefined && { excess: { message: this.#excess } }),
    };
  }
}
