import type { Bus, FactOwner } from '@kubus/bus';
import {
  type AnyFact,
  type PodRef,
  type PodVolumes,
  type PodWork,
  type SubPathsRequest,
  type WorkerState,
  podVolumes,
  podWork,
  podWorker,
  prepareSubPaths,
  serviceContracts,
  volumeStats,
} from '@kubus/contracts';
import { type Clock, type Random, KubusError } from '@kubus/ports';

/** When a volume was mounted and unmounted, in milliseconds; undefined while it is mounted. */
interface MountedTime {
  readonly from: number;
  to: number | undefined;
}

/** The node's mounts, which outlive every process: pod UID to the periods in which its volume was mounted, the last one at the end. */
export type MountTable = Map<string, { readonly ref: PodRef; readonly times: MountedTime[] }>;

export function isMounted(mounts: MountTable, uid: string): boolean {
  const last = mounts.get(uid)?.times.at(-1);
  return last !== undefined && last.to === undefined;
}

/** The other messages of a volume manager, which the simulated one neither reads nor publishes. */
function leaveOut(bus: Bus): void {
  const { owns, reads } = serviceContracts['volume-manager'];
  const used: readonly AnyFact[] = [podVolumes, podWork, podWorker];
  for (const fact of reads) if (!used.includes(fact)) bus.reader(fact);
  for (const fact of owns) if (!used.includes(fact)) bus.owner(fact).complete();
  bus.serve(volumeStats, () => Promise.resolve({ pods: {} }));
}

/** A volume manager that mounts the desired volumes, not always at the first attempt, and unmounts those of ended pods. */
export class SimulatedVolumes {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #mounts: MountTable;
  readonly #elapsed: () => number;
  readonly #facts: FactOwner<PodVolumes>;
  readonly #works = new Map<string, PodWork>();
  readonly #states = new Map<string, WorkerState>();
  readonly #busy = new Set<string>();
  /** Pods for which only a failure was published. */
  readonly #failed = new Set<string>();
  #worksKnown = false;
  #statesKnown = false;

  constructor(options: { bus: Bus; clock: Clock; random: Random; mounts: MountTable; elapsed: () => number }) {
    const { bus, mounts } = options;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#mounts = mounts;
    this.#elapsed = options.elapsed;
    this.#facts = bus.owner(podVolumes);
    leaveOut(bus);
    bus.serve(prepareSubPaths, ({ key, request }) => this.#prepare(key, request));
    for (const [uid, { ref }] of mounts) if (this.#isMounted(uid)) this.#publish(ref, uid);
    this.#facts.complete();
    bus.reader(podWork, {
      changed: ({ key, value }) => {
        this.#works.set(key, value);
        this.#look(key);
      },
      removed: ({ key }) => {
        this.#works.delete(key);
        this.#look(key);
      },
      complete: () => {
        this.#worksKnown = true;
        this.#lookAtAll();
      },
    });
    bus.reader(podWorker, {
      changed: ({ key, value }) => {
        this.#states.set(key, value.state);
        this.#look(key);
      },
      removed: ({ key }) => {
        this.#states.delete(key);
        this.#look(key);
      },
      complete: () => {
        this.#statesKnown = true;
        this.#lookAtAll();
      },
    });
  }

  #lookAtAll(): void {
    for (const uid of new Set([...this.#mounts.keys(), ...this.#works.keys()])) this.#look(uid);
  }

  #look(uid: string): void {
    const work = this.#works.get(uid);
    const wanted = this.#isWanted(uid);
    const idle = wanted ? this.#isMounted(uid) : !this.#isMounted(uid) && !this.#failed.has(uid);
    if (idle || this.#busy.has(uid)) return;
    this.#busy.add(uid);
    this.#clock.after(this.#random.between(5, 200), () => {
      this.#busy.delete(uid);
      // The desired state may have changed in the meantime.
      if (this.#isWanted(uid) === wanted) {
        if (!wanted) this.#unmount(uid);
        else if (work !== undefined) this.#mount(uid, work.ref);
      }
      this.#look(uid);
    });
  }

  /** Undecided cases stay as they are. */
  #isWanted(uid: string): boolean {
    const work = this.#works.get(uid);
    const state = this.#states.get(uid);
    if (state === 'terminated' || state === 'finished') return false;
    if (this.#isMounted(uid))
      return work !== undefined || state !== undefined || !this.#worksKnown || !this.#statesKnown;
    return work?.work === 'sync' && (work.pod?.spec.volumes?.length ?? 0) > 0;
  }

  #isMounted(uid: string): boolean {
    return isMounted(this.#mounts, uid);
  }

  #mount(uid: string, ref: PodRef): void {
    if (this.#random.chance(0.2)) {
      this.#failed.add(uid);
      this.#facts.put(uid, { ref, ready: false, volumes: {}, errors: ['the device is busy'] }, { pod: uid });
      return;
    }
    this.#failed.delete(uid);
    const { times } = this.#mounts.get(uid) ?? { times: [] };
    this.#mounts.set(uid, { ref, times: [...times, { from: this.#elapsed(), to: undefined }] });
    this.#publish(ref, uid);
  }

  #prepare(uid: string, { mounts }: SubPathsRequest): Promise<{ paths: Record<string, string> }> {
    return new Promise((resolve, reject) => {
      this.#clock.after(this.#random.between(5, 200), () => {
        const paths = mounts.map(({ index }) => [index, `/parts/${uid}/${index}`] as const);
        if (this.#isMounted(uid)) resolve({ paths: Object.fromEntries(paths) });
        else reject(new KubusError('VolumesNotReady', 'the volume is not mounted'));
      });
    });
  }

  #unmount(uid: string): void {
    const last = this.#mounts.get(uid)?.times.at(-1);
    if (last !== undefined) last.to ??= this.#elapsed();
    this.#failed.delete(uid);
    this.#facts.remove(uid, { pod: uid });
  }

  #publish(ref: PodRef, uid: string): void {
    this.#facts.put(uid, { ref, ready: true, volumes: { data: { hostPath: `/volumes/${uid}` } } }, { pod: uid });
  }
}
