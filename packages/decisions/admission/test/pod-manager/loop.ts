import type { AdmissionNode } from '../../src/admission-node.ts';
import type { AdmissionRecord } from '../../src/admission-record.ts';
import type { Pod, PodWork, SourceName, WorkerState } from '@kubus/contracts';
import { type IdPool, NodeState, type WorkChange } from '../../src/index.ts';
import { ids, node } from './small-node.ts';

export const NOW = '2030-01-01T00:00:00Z';

export interface LoopOptions {
  readonly node?: AdmissionNode;
  readonly ids?: IdPool;
  readonly awaitsShutdown?: boolean;
  /** The first one is the default source of pods. */
  readonly sources: readonly [SourceName, ...SourceName[]];
}

/** A sync loop around the state: what it has published, and what is on its disk. */
export class Loop {
  readonly works = new Map<string, PodWork>();
  readonly records = new Map<string, AdmissionRecord>();
  readonly #options: LoopOptions;
  state: NodeState;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.state = this.#life();
  }

  #life(): NodeState {
    const state = new NodeState({ node, ids, ...this.#options, records: this.records });
    state.shared({ instances: ['pod-workers-0'], term: 0 });
    state.configured([...this.#options.sources]);
    return state;
  }

  /** Restarts with what is on the disk. */
  restart(): this {
    this.state = this.#life();
    return this;
  }

  /** The pods of the runtime and of all sources are completely known. */
  known(): this {
    this.state.runtimeFeatures({ strictSupplementalGroups: false });
    this.state.runtimeComplete();
    for (const source of this.#options.sources) this.state.sourceComplete(source);
    this.decideAll();
    return this;
  }

  desire(pod: Pod, source = this.#options.sources[0], now = NOW): void {
    this.state.desired(source, { operation: 'ADD', source, pod });
    this.apply(this.state.decide(pod.metadata.uid, now));
  }

  drop(uid: string): void {
    this.state.undesired(this.#options.sources[0], uid);
    this.apply(this.state.decide(uid, NOW));
  }

  worker(uid: string, state: WorkerState | undefined): void {
    this.state.worker(uid, state && { ref: { namespace: 'default', name: uid, uid }, state, since: NOW });
    this.apply(this.state.decide(uid, NOW));
  }

  decideAll(): void {
    this.apply(this.state.decideAll(NOW));
  }

  apply(changes: readonly WorkChange[]): void {
    for (const { uid, work, record } of changes) {
      if (record === undefined) this.records.delete(uid);
      else this.records.set(uid, record);
      if (work === undefined) this.works.delete(uid);
      else this.works.set(uid, work);
    }
  }
}
