import { type LocalMember, LocalBroker } from '@kubus/bus/testing';
import type { FactOwner, FactReader } from '@kubus/bus';
import {
  type Pod,
  type PodVolumes,
  type PodWork,
  type PodWorkerReport,
  type WorkerState,
  podRefOf,
  podVolumes,
  podWork,
  podWorker,
} from '@kubus/contracts';
import { type Clock, type RecordStore, silentLogger } from '@kubus/ports';
import { type VolumeHost, VolumeManager } from '../src/index.ts';

export type Volumes = NonNullable<Pod['spec']['volumes']>;

/** A pod whose only container mounts all of its volumes. */
export function podWith(uid: string, volumes: Volumes, spec: Partial<Pod['spec']> = {}): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return {
    metadata: { name: uid, namespace: 'default', uid },
    spec: { volumes, containers: [{ name: 'main', volumeMounts }], ...spec },
  };
}

/** The services around the volume manager do what the test says. */
export class ScriptedNode {
  readonly #clock: Clock;
  readonly #broker = new LocalBroker('node0');
  readonly #works: FactOwner<PodWork>;
  readonly #workers: FactOwner<PodWorkerReport>;
  readonly #facts: FactReader<PodVolumes>;
  readonly #waiting = new Set<() => void>();
  #life: { member: LocalMember; manager: VolumeManager } | undefined;
  #epoch = 0;
  /** Instances whose set of volumes has been seen whole, once per life. */
  completions = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#works = this.#broker.join('sync-loop', clock).bus.owner(podWork);
    const workers = this.#broker.join('pod-workers', clock).bus;
    this.#workers = workers.owner(podWorker);
    const look = () => {
      for (const waiting of [...this.#waiting]) waiting();
    };
    this.#facts = workers.reader(podVolumes, {
      changed: look,
      removed: look,
      complete: () => {
        this.completions += 1;
        look();
      },
    });
  }

  get manager(): VolumeManager {
    if (this.#life === undefined) throw new Error('the volume manager does not run');
    return this.#life.manager;
  }

  async start(parts: { root: string; host: VolumeHost; records: RecordStore }): Promise<void> {
    const { root, host, records } = parts;
    const member = this.#broker.join('volume-manager', this.#clock, ++this.#epoch);
    const manager = await VolumeManager.start({
      bus: member.bus,
      clock: this.#clock,
      logger: silentLogger,
      records,
      host,
      settings: { root, memory: 1024n ** 3n, noSwap: false },
    });
    this.#life = { member, manager };
  }

  /** Ends it without a word; what it is doing is done. */
  async kill(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    life?.member.leave();
    await life?.manager.stop();
  }

  want(pod: Pod, work: 'sync' | 'kill' = 'sync'): void {
    const ref = podRefOf(pod);
    const [source, reason, worker, firstSeen] = ['file', 'test', 'pod-workers-0', '2030-01-01T00:00:00Z'] as const;
    this.#works.put(ref.uid, { ref, pod, source, work, reason, worker, firstSeen }, { pod: ref.uid });
  }

  unwant(uid: string): void {
    this.#works.remove(uid, { pod: uid });
  }

  /** What the pod's worker says; undefined: it says nothing any more. */
  worker(uid: string, state: WorkerState | undefined): void {
    if (state === undefined) this.#workers.remove(uid, { pod: uid });
    else {
      const ref = { namespace: 'default', name: uid, uid };
      this.#workers.put(uid, { ref, state, since: '2030-01-01T00:00:00Z' }, { pod: uid });
    }
  }

  complete(): void {
    this.#works.complete();
    this.#workers.complete();
  }

  /** What is told of a pod's volumes now. */
  told(uid: string): PodVolumes | undefined {
    return this.#facts.get(uid)?.value;
  }

  /** Resolves when `condition` holds; it is looked at after each fact. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  untilReady(uid: string): Promise<void> {
    return this.until(() => this.told(uid)?.ready === true);
  }

  untilGone(uid: string): Promise<void> {
    return this.until(() => this.told(uid) === undefined);
  }
}
