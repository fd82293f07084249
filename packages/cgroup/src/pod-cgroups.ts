import {
  type CgroupNaming,
  type CgroupTier,
  type PodLimitSettings,
  cpuSharesOf,
  nodeLimits,
  podLimits,
  podOfCgroup,
  podPath,
  tierLimits,
  tierOf,
  tierPath,
} from '@kubus/cgroup-config';
import type { Pod } from '@kubus/contracts';
import { KubusError, hasErrno } from '@kubus/ports';
import { readFileSync, readdirSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CgroupWriter } from './cgroup-writer.ts';
import { type CgroupMounts, cgroupMounts, cgroupTree, removeFolders } from './hierarchies.ts';
import { kernelHugepageSizes } from './kernel-memory.ts';

/** A cgroup can not be removed as long as a process is in it. */
export class CgroupBusy extends KubusError {}

export interface PodCgroupOptions extends Partial<CgroupNaming>, Omit<PodLimitSettings, 'hugepageSizes'> {
  /** What the node has for pods: thousandths of a CPU, and bytes. Left out: they are not limited together. */
  readonly allocatable?: { readonly milliCpu: bigint; readonly memory: bigint };
  /** Default: those of the machine. */
  readonly mounts?: CgroupMounts;
}

const CLASSES = ['Guaranteed', 'Burstable', 'BestEffort'];

/**
 * The pods' cgroups (kubelet behaviour 1.20): `<root>/kubepods/<class>/pod<uid>`, or slices of the same names. Whatever it
 * does is read from the machine, so that several instances can each look after their own pods.
 */
export class PodCgroupTree {
  readonly #naming: CgroupNaming;
  readonly #options: PodCgroupOptions;
  #started: Promise<{ writer: CgroupWriter; hugepageSizes: readonly bigint[] }> | undefined;
  #sharing: Promise<void> = Promise.resolve();
  #sharingDue: Promise<void> | undefined;

  /** `root`: the cgroup below which the node's pods live; default `/`, the machine's own. Default driver: cgroupfs. */
  constructor(options: PodCgroupOptions) {
    const { root = '/', driver = 'cgroupfs' } = options;
    this.#naming = { root, driver };
    this.#options = options;
  }

  /** The pod's cgroup as the runtime takes it. */
  parent(uid: string, qos: string): string {
    return podPath(this.#naming, uid, qos);
  }

  /**
   * Makes the pod's cgroup and those above it, with the limits that they are to have now. To be called before the pod's
   * sandbox is made and whenever its resources change; costs nothing where all is as it should be.
   *
   * @param qos the pod's class, which never changes
   *
   * Throws {@link CgroupError}.
   */
  async ensure(pod: Pick<Pod, 'metadata' | 'spec'>, qos: string): Promise<void> {
    const { writer, hugepageSizes } = await this.#start();
    const { allocatable } = this.#options;
    if (allocatable !== undefined) await writer.ensure(tierPath(this.#naming, 'pods'), nodeLimits(allocatable));
    const path = podPath(this.#naming, pod.metadata.uid, qos);
    await writer.ensure(path, podLimits(pod, { ...this.#options, hugepageSizes }));
    await this.#share();
  }

  /** Bytes of memory that everything in the pod's cgroup uses; undefined when there is none. */
  async memoryUsage(uid: string, qos: string): Promise<bigint | undefined> {
    const { writer } = await this.#start();
    const { version, controllers } = writer.mounts;
    const mount = controllers.get('memory');
    if (mount === undefined) return undefined;
    const file = version === 1 ? 'memory.usage_in_bytes' : 'memory.current';
    const text = contentOf(join(mount, this.parent(uid, qos), file));
    return text === undefined ? undefined : BigInt(text);
  }

  /** UIDs of the pods that have a cgroup. */
  async pods(): Promise<Set<string>> {
    const { writer } = await this.#start();
    const uids = new Set<string>();
    for (const mount of new Set(writer.mounts.controllers.values())) {
      for (const qos of CLASSES) {
        const folder = join(mount, tierPath(this.#naming, tierOf(qos)));
        for (const name of await readdir(folder).catch(() => [])) {
          const uid = podOfCgroup(name, this.#naming.driver);
          if (uid !== undefined) uids.add(uid);
        }
      }
    }
    return uids;
  }

  /**
   * Removes the pod's cgroup in every hierarchy, whatever its class was, and kills what is still in it: nothing of the pod
   * is to run any more. Harmless when there is none.
   *
   * Throws {@link CgroupBusy} when something had to be killed that has not ended yet: to be called again.
   */
  async remove(uid: string): Promise<void> {
    const { writer } = await this.#start();
    let removed = false;
    for (const qos of CLASSES) {
      const path = this.parent(uid, qos);
      const folders = await cgroupTree(path);
      const busy = await removeFolders(folders);
      if (busy !== undefined) {
        await killAllIn(folders);
        throw new CgroupBusy('cgroup-busy', `cgroup ${busy} can not be removed: something still runs in it`, {
          context: { cgroup: busy, podUid: uid },
        });
      }
      writer.forget(path);
      removed ||= folders.length > 0;
    }
    if (removed) await this.#share();
  }

  #start(): Promise<{ writer: CgroupWriter; hugepageSizes: readonly bigint[] }> {
    this.#started ??= (async () => ({
      writer: new CgroupWriter(this.#options.mounts ?? (await cgroupMounts())),
      hugepageSizes: await kernelHugepageSizes(),
    }))();
    return this.#started;
  }

  /** Gives the classes' tiers their shares. Many pods that change at once are one round: one under way, one due. */
  #share(): Promise<void> {
    this.#sharingDue ??= this.#sharing.then(async () => {
      this.#sharingDue = undefined;
      await this.#shareNow();
    });
    this.#sharing = this.#sharingDue.catch(() => undefined);
    return this.#sharingDue;
  }

  async #shareNow(): Promise<void> {
    const { writer } = await this.#start();
    for (const tier of ['burstable', 'besteffort'] as const) {
      await writer.ensure(tierPath(this.#naming, tier), tierLimits(tier, this.#podShares(writer.mounts, tier)));
    }
  }

  /**
   * What the kernel says that the tier's pods have. These files are in memory: to read them without leaving the event loop
   * costs a tenth of what it costs otherwise.
   */
  #podShares({ version, controllers }: CgroupMounts, tier: CgroupTier): bigint[] {
    const mount = controllers.get('cpu');
    if (mount === undefined || tier !== 'burstable') return [];
    const folder = join(mount, tierPath(this.#naming, tier));
    const shares: bigint[] = [];
    for (const name of listed(folder)) {
      if (podOfCgroup(name, this.#naming.driver) === undefined) continue;
      const text = contentOf(join(folder, name, version === 1 ? 'cpu.shares' : 'cpu.weight'));
      if (text === undefined) continue;
      shares.push(version === 1 ? BigInt(text) : cpuSharesOf(BigInt(text)));
    }
    return shares;
  }
}

async function killAllIn(folders: readonly string[]): Promise<void> {
  const lists = await Promise.all(
    folders.map((folder) => readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '')),
  );
  for (const pid of new Set(lists.flatMap((list) => list.split('\n').map(Number)))) {
    // 0 stands for a process that our process namespace does not show; as a signal's target it would mean ourselves.
    if (pid > 0) kill(pid);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!hasErrno(error, 'ESRCH')) throw error;
  }
}

/** Both give nothing for a cgroup that is not there, or was removed meanwhile. */
function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
