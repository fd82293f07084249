import { noSizes } from '@kubus/admission';
import type { BackOffEntry } from '@kubus/pod-lifecycle';
import type { WaitingReason } from '@kubus/pod-status';
import type { StopsUnderWay } from '../containers/stops-under-way.ts';
import type { PodRecord } from '../records/pod-record.ts';
import type { ResizeState } from '../resize/resize-state.ts';
import { ProbeMemory } from './probe-memory.ts';

type Kept = Pick<PodRecord, 'backOffs' | 'probes' | 'sizes'>;

/** The state that a pod's worker keeps from one sync to the next. */
export class PodMemory {
  /** Keyed by container name: why it does not run; shown in the status. */
  readonly waiting = new Map<string, WaitingReason>();
  /** The back-offs of containers and of image pulls, by their key. */
  readonly backOffs: Map<string, BackOffEntry>;
  readonly stops: StopsUnderWay = new Map();
  /** The CPUs of runs of containers, as far as this process has set them. */
  readonly cpuSets = new Map<string, string>();
  readonly resize: ResizeState;
  readonly probes: ProbeMemory;

  /** @param record left by an earlier process of the worker */
  constructor(record: Kept | undefined) {
    this.backOffs = new Map(Object.entries(record?.backOffs ?? {}));
    this.resize = { sizes: record?.sizes ?? noSizes, error: undefined };
    this.probes = new ProbeMemory(record?.probes);
  }

  /** Drops everything except the probes' results: a UID that had finished is desired again. */
  clear(): void {
    for (const known of [this.waiting, this.backOffs, this.stops, this.cpuSets]) known.clear();
    this.resize.sizes = noSizes;
  }

  /** The part that outlives this process. */
  toRecord(): Kept {
    const { sizes } = this.resize;
    const probes = this.probes.toRecord();
    return {
      backOffs: Object.fromEntries(this.backOffs),
      ...(Object.keys(probes).length > 0 && { probes }),
      ...(sizes !== noSizes && { sizes }),
    };
  }
}
