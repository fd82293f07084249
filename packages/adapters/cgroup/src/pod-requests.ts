import {
  type CgroupNaming,
  type CgroupTier,
  type MemoryRequests,
  cpuSharesOf,
  milliCpuOf,
  podMemoryRequest,
  podMilliCpu,
  podOfCgroup,
  tierPath,
} from '@kubus/cgroup-config';
import type { Pod } from '@kubus/contracts';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CgroupMounts } from './hierarchies.ts';

/** A pod whose class is known; it never changes. */
export interface ClassedPod {
  readonly pod: Pick<Pod, 'metadata' | 'spec'>;
  readonly qos: string;
}

interface Requested {
  readonly qos: string;
  readonly milliCpu: bigint;
  /** Bytes. */
  readonly memory: bigint;
}

/**
 * What the pods on this machine request together. The pods of this instance are known; of those of other instances the kernel knows the shares
 * and the protected memory. These files are in memory: to read them without leaving the event loop costs a tenth of what it costs otherwise.
 */
export class PodRequests {
  readonly #naming: CgroupNaming;
  readonly #known = new Map<string, Requested>();

  constructor(naming: CgroupNaming) {
    this.#naming = naming;
  }

  know({ pod, qos }: ClassedPod): void {
    if (qos === 'BestEffort') return;
    this.#known.set(pod.metadata.uid, { qos, milliCpu: podMilliCpu(pod), memory: podMemoryRequest(pod) });
  }

  forget(uid: string): void {
    this.#known.delete(uid);
  }

  forgetAll(): void {
    this.#known.clear();
  }

  /** Thousandths of a CPU that the pods of a tier request. */
  milliCpu({ version, controllers }: CgroupMounts, tier: CgroupTier): bigint {
    if (tier !== 'burstable') return 0n;
    const file = version === 1 ? 'cpu.shares' : 'cpu.weight';
    return this.#sum(
      controllers.get('cpu'),
      tier,
      file,
      ({ milliCpu }) => milliCpu,
      (kernel) => milliCpuOf(version === 1 ? kernel : cpuSharesOf(kernel)),
    );
  }

  memory({ controllers }: CgroupMounts): MemoryRequests {
    const sum = (tier: CgroupTier, file: string) =>
      this.#sum(
        controllers.get('memory'),
        tier,
        file,
        ({ memory }) => memory,
        (kernel) => kernel,
      );
    return { guaranteed: sum('pods', 'memory.min'), burstable: sum('burstable', 'memory.low') };
  }

  #sum(
    mount: string | undefined,
    tier: CgroupTier,
    file: string,
    known: (requested: Requested) => bigint,
    unknown: (kernel: bigint) => bigint,
  ): bigint {
    if (mount === undefined) return 0n;
    const folder = join(mount, tierPath(this.#naming, tier));
    let sum = 0n;
    for (const name of listed(folder)) {
      const uid = podOfCgroup(name, this.#naming.driver);
      if (uid === undefined) continue;
      const requested = this.#known.get(uid);
      const text = requested === undefined ? contentOf(join(folder, name, file)) : undefined;
      if (requested !== undefined) sum += known(requested);
      else if (text !== undefined && /^\d+$/.test(text)) sum += unknown(BigInt(text));
    }
    return sum;
  }
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The content of a small file; undefined where there is none, or where it was removed meanwhile. */
export function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
