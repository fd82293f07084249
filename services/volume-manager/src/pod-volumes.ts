import type { Cause, FactOwner } from '@kubus/bus';
import type { MountedVolume, PodRef, PodVolumes as PodVolumesFact } from '@kubus/contracts';
import { type Cancel, type Clock, KubusError, type Logger, type RecordStore, toError } from '@kubus/ports';
import type { PodEvents } from '@kubus/service-kit';
import { type VolumeGoal, type VolumePlan, type VolumeStep, limitedFolders, retryWait } from '@kubus/volume';
import type { VolumeHost, VolumeNews } from './ports.ts';
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
}

/** One volume of a pod that can be made, and where it is if it is there. */
export interface PodVolume {
  /** The pod's. */
  readonly uid: string;
  readonly name: string;
  readonly step: VolumeStep;
  readonly mounted: MountedVolume | undefined;
}

/** What is to become of a pod's volumes. */
export interface PodVolumesWish {
  readonly ref: PodRef | undefined;
  readonly goal: VolumeGoal;
  /** The volumes that the pod needs, or why they can not be told; undefined where nobody tells of the pod any more. */
  readonly plans: readonly VolumePlan[] | Error | undefined;
}

/** How long a pod's volumes are waited for until something is told of them, in milliseconds: one may hang. */
const FIRST_WORD_MS = 2_000;

/**
 * The volumes of one pod: brought to what its work and its worker ask for, each in its own lane, and told as a fact. They
 * are removed together, when nothing is being made any more.
 */
export class PodVolumes {
  readonly uid: string;
  readonly #deps: PodVolumesDeps;
  readonly #onRest: () => void;
  readonly #lanes = new Map<string, VolumeLane>();
  readonly #sizes: SizeWatch;
  /** Why the pod is to be evicted: it stays so, whatever the volume becomes. */
  #excess: string | undefined;
  #wish: PodVolumesWish = { ref: undefined, goal: 'keep', plans: undefined };
  #causes: readonly Cause[] = [];
  #recorded: boolean;
  /** Why nothing can be made, or not everything be removed. */
  #error: string | undefined;
  #failures = 0;
  /** The end of all that is done with the volumes. */
  #uses: Promise<void> = Promise.resolve();
  #running: Promise<void> | undefined;
  #due = false;
  #gone = false;
  /** Some of the volumes may be gone, whatever their lanes say: their removal is under way, or has failed. */
  #removing = false;
  /** The fact, as JSON, as it was told last; `gone` when it was taken back. */
  #lastTold: string | undefined;
  #timer: Cancel | undefined;
  #firstWord: Cancel | undefined;
  #stopped = false;

  /**
   * @param recorded an earlier life has written down that the pod has volumes, or some were found
   * @param onRest called each time when something has ended
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

  /** What there is of the pod has been told. */
  get settled(): boolean {
    return this.#lastTold !== undefined;
  }

  /** Nothing is left and nothing is wanted. */
  get forgettable(): boolean {
    return this.#gone && this.#running === undefined && this.#wish.goal !== 'make';
  }

  /** Why not everything is as it should be. */
  get error(): string | undefined {
    return this.#errors[0];
  }

  /** The volumes that it is known how to make. */
  get volumes(): PodVolume[] {
    const { plans } = this.#wish;
    const steps = Array.isArray(plans) ? plans.filter((plan: VolumePlan) => 'step' in plan) : [];
    return steps.map(({ name, step }) => ({ uid: this.uid, name, step, mounted: this.#lanes.get(name)?.mounted }));
  }

  /** Takes in what is wanted now, and acts on it. */
  update(wish: PodVolumesWish, causes: readonly Cause[]): void {
    this.#wish = { ...wish, ref: wish.ref ?? this.#wish.ref };
    this.#causes = causes;
    this.#firstWord ??= this.#deps.clock.after(FIRST_WORD_MS, () => this.#tell());
    this.#run();
    // Wanted again too early: what was told of its volumes is not so any more.
    if (this.#removing && wish.goal !== 'remove' && this.settled) this.#tell();
  }

  /**
   * Does something with the volumes that are there, one such thing at a time: none of them is removed before it has ended.
   *
   * @throws KubusError `VolumesNotReady` when the pod is to have no volumes (any more).
   */
  async use<T>(act: (volumes: Readonly<Record<string, MountedVolume>>) => Promise<T>): Promise<T> {
    while (this.#running !== undefined) await this.#running;
    const use = this.#uses.then(async () => {
      if (this.#wish.goal !== 'make' || this.#stopped) throw new KubusError('VolumesNotReady', 'the pod is ending');
      // What is made has to be removed, also where no volume has.
      await this.#record();
      return act(this.#mounted);
    });
    this.#uses = use.then(
      () => undefined,
      () => undefined,
    );
    return use;
  }

  /** Begins nothing more; resolves when what is under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.();
    this.#firstWord?.();
    this.#sizes.watch([]);
    await this.#running;
    await Promise.all([this.#uses, ...[...this.#lanes.values()].map((lane) => lane.hold())]);
  }

  /** One change of goal at a time; making itself goes on in the lanes. */
  #run(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) {
      this.#due = true;
      return;
    }
    this.#timer?.();
    this.#running = this.#pursue()
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

  async #pursue(): Promise<void> {
    const { goal, plans = [] } = this.#wish;
    const isMade = goal === 'make' && Array.isArray(plans) && this.#excess === undefined;
    this.#sizes.watch(isMade ? limitedFolders(plans) : []);
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
    this.#gone = false;
    if (plans.some((plan) => 'step' in plan && plan.step.kind !== 'host')) await this.#record();
    if (this.#stopped) return;
    const names = new Set(plans.map(({ name }) => name));
    for (const [name, lane] of this.#lanes) if (!names.has(name)) void lane.hold();
    for (const plan of plans) this.#lane(plan).make(plan);
  }

  async #remove(): Promise<void> {
    const { host, records } = this.#deps;
    this.#removing = true;
    await Promise.all([this.#uses, ...[...this.#lanes.values()].map((lane) => lane.hold())]);
    if (this.#recorded) {
      await host.remove(this.uid);
      await records.delete(this.uid);
      this.#recorded = false;
    }
    this.#lanes.clear();
    this.#excess = undefined;
    this.#removing = false;
    this.#gone = true;
  }

  #fail(error: Error): void {
    if (error.message !== this.#error)
      this.#deps.logger.warn({ err: error }, 'a pod’s volumes are not as they should be');
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
      tell: (news) => {
        const about = { volume: plan.name, reason: news.reason };
        if (news.type === 'Normal') logger.info(about, news.message);
        else logger.warn(about, news.message);
        this.#tellUser(news);
      },
    });
    this.#lanes.set(plan.name, lane);
    return lane;
  }

  async #record(): Promise<void> {
    const { ref } = this.#wish;
    if (this.#recorded || ref === undefined) return;
    const record: VolumeRecord = { version: 1, ref };
    await this.#deps.records.put(this.uid, record);
    this.#recorded = true;
  }

  #tellUser(news: VolumeNews): void {
    const { ref } = this.#wish;
    if (ref !== undefined) this.#deps.events.record({ ref, type: 'Warning', ...news }, this.#causes);
  }

  /** The lanes of the volumes that the pod needs now; of all that there are, where nobody tells of it any more. */
  get #current(): (readonly [string, VolumeLane])[] {
    const { plans } = this.#wish;
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
    if (isKnown || this.settled) this.#tell();
    this.#onRest();
  }

  #tell(): void {
    this.#firstWord?.();
    const { facts } = this.#deps;
    const about = { pod: this.uid, causes: this.#causes };
    const fact = this.#gone ? undefined : this.#fact();
    const text = fact === undefined ? 'gone' : JSON.stringify(fact);
    if (text === this.#lastTold) return;
    const { ref } = this.#wish;
    // What an earlier life has told can be taken back only by one that has told something itself.
    if (fact === undefined && this.#lastTold === undefined && ref !== undefined)
      facts.put(this.uid, { ref, ready: false, volumes: {} }, about);
    this.#lastTold = text;
    if (fact === undefined) facts.remove(this.uid, about);
    else facts.put(this.uid, fact, about);
  }

  #fact(): PodVolumesFact | undefined {
    const { ref, plans } = this.#wish;
    if (ref === undefined) return undefined;
    const lanes = this.#current;
    const volumes = this.#mounted;
    const isThere = ({ name }: VolumePlan) => volumes[name] !== undefined;
    const ready = Array.isArray(plans) && plans.every(isThere) && this.#error === undefined && !this.#removing;
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
