import {
  type CgroupLimits,
  type CgroupNaming,
  type CgroupTier,
  type PodLimitSettings,
  cpuSharesOf,
  milliCpuOf,
  namedPath,
  podLimits,
  podMilliCpu,
  podOfCgroup,
  podPath,
  sharedLimits,
  tierLimits,
  tierOf,
  tierPath,
} from '@kubus/cgroup-config';
import type { Pod, ResourceList } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import { readFileSync, readdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CgroupError, type CgroupMaker, FolderMaker, SliceMaker, type UnitManager } from './cgroup-maker.ts';
import { CgroupWriter } from './cgroup-writer.ts';
import { onlineCpus } from './cpus.ts';
import { type CgroupMounts, cgroupHierarchies, cgroupMounts, cgroupTree, removeFolders } from './hierarchies.ts';
import { kernelHugepageSizes } from './kernel-memory.ts';
import { missingCgroup } from './missing-cgroup.ts';
import { killAllIn } from './processes.ts';

/** Thrown when a cgroup cannot be removed because a process is in it. */
export class CgroupBusy extends KubusError {}

interface PodCgroupOptions extends Partial<CgroupNaming>, Omit<PodLimitSettings, 'hugepageSizes'> {
  /** What all pods may use together: `cpu`, `memory`, `pid` and huge pages. Omitted: they are not limited together. */
  readonly allocatable?: ResourceList;
  /** Default: those of the machine. */
  readonly mounts?: CgroupMounts;
  /** systemd; required for the driver `systemd`. */
  readonly units?: UnitManager;
}

/** A pod whose class is known; it never changes. */
export interface ClassedPod {
  readonly pod: Pick<Pod, 'metadata' | 'spec'>;
  readonly qos: string;
}

/** What the cgroups are made with. */
interface Started {
  readonly writer: CgroupWriter;
  readonly hugepageSizes: readonly bigint[];
  readonly cpus: readonly number[];
  /** Mounts of all hierarchies. */
  readonly hierarchies: readonly string[];
}

const CLASSES = ['Guaranteed', 'Burstable', 'BestEffort'];
const BURSTABLE = 'Burstable';

/**
 * The pods' cgroups (behaviour:qos-and-cgroups): `<root>/kubepods/<class>/pod<uid>`, or slices of the same names. Whatever it
 * does is read from the machine, so that several instances can each look after their own pods.
 */
export class PodCgroupTree {
  readonly #naming: CgroupNaming;
  readonly #options: PodCgroupOptions;
  /** Thousandths of a CPU that the burstable pods of this instance request. */
  readonly #milliCpu = new Map<string, bigint>();
  #started: Promise<Started> | undefined;
  #sharing: Promise<void> = Promise.resolve();
  #sharingDue: Promise<void> | undefined;

  /** `root`: the cgroup below which the node's pods live; default `/`, the machine's own. Default driver: cgroupfs. */
  constructor(options: PodCgroupOptions) {
    const { root = '/', driver = 'cgroupfs' } = options;
    this.#naming = { root, driver };
    this.#options = options;
  }

  /** The cgroup of all pods. */
  get path(): string {
    return tierPath(this.#naming, 'pods');
  }

  /** The pod's cgroup as the runtime takes it. */
  parent(uid: string, qos: string): string {
    return podPath(this.#naming, uid, qos);
  }

  /**
   * Makes the pod's cgroup and those above it, with the limits that they are to have now. To be called before the pod's
   * sandbox is made and whenever its resources change; only reads where all is as it should be.
   *
   * @param qos the pod's class, which never changes
   *
   * Throws {@link CgroupError}.
   */
  async ensure(pod: ClassedPod['pod'], qos: string): Promise<void> {
    const { writer, hugepageSizes } = await this.#start();
    await this.ensureAll();
    this.#know({ pod, qos });
    const path = podPath(this.#naming, pod.metadata.uid, qos);
    await writer.ensure(path, podLimits(pod, { ...this.#options, hugepageSizes }));
    await this.#share();
  }

  /** Makes the cgroup of all pods, with what they may use together. Throws {@link CgroupError}. */
  async ensureAll(): Promise<void> {
    const { allocatable } = this.#options;
    if (allocatable === undefined) return;
    const { writer, hugepageSizes, cpus } = await this.#start();
    await writer.ensure(this.path, sharedLimits(allocatable, { hugepageSizes, cpus }));
  }

  /**
   * Gives the cgroups above the pods' their limits again: another program may have changed them, and an earlier agent may have given pods
   * other requests. Throws {@link CgroupError}.
   *
   * @param pods all that run here
   */
  async refresh(pods: Iterable<ClassedPod>): Promise<void> {
    this.#milliCpu.clear();
    for (const pod of pods) this.#know(pod);
    await this.ensureAll();
    await this.#share();
  }

  /**
   * Limits a cgroup that others have made, such as `/system.slice`, to what is reserved for it (behaviour:qos-and-cgroups).
   *
   * @param compressible only its share of the CPUs
   *
   * Throws {@link CgroupError}, when it does not exist in the reference's words.
   */
  async limitReserved(name: string, reserved: ResourceList, compressible: boolean): Promise<void> {
    const { writer, hugepageSizes, cpus } = await this.#start();
    const { driver } = this.#naming;
    const missing = await missingCgroup(name, driver, writer.mounts);
    if (missing !== undefined) throw new CgroupError('no-cgroup', missing, { context: { cgroup: name } });
    const limits = sharedLimits(reserved, { hugepageSizes, cpus, compressible });
    await writer.change(namedPath(name, driver), limits);
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

  /** Gives a pod that has ended, and whose cgroup has to stay for a while, the least share of the CPUs. Throws {@link CgroupError}. */
  async starve(uid: string): Promise<void> {
    const { writer, hierarchies } = await this.#start();
    this.#milliCpu.delete(uid);
    const least: CgroupLimits = tierLimits('besteffort', 0n);
    for (const qos of CLASSES) {
      const path = this.parent(uid, qos);
      if ((await cgroupTree(path, hierarchies)).length > 0) await writer.change(path, least);
    }
  }

  /**
   * Removes the pod's cgroup in every hierarchy, whatever its class was, and kills what is still in it: nothing of the pod
   * is to run any more. Harmless when there is none.
   *
   * Throws {@link CgroupBusy} when something had to be killed that has not ended yet: to be called again; {@link CgroupError}.
   */
  async remove(uid: string): Promise<void> {
    this.#milliCpu.delete(uid);
    const { writer, hierarchies } = await this.#start();
    let removed = false;
    for (const qos of CLASSES) {
      const path = this.parent(uid, qos);
      const folders = await cgroupTree(path, hierarchies);
      if (folders.length === 0) continue;
      const busy = await this.#removed(path, folders, writer);
      if (busy !== undefined) {
        throw new CgroupBusy('cgroup-busy', `cgroup ${busy} cannot be removed: something still runs in it`, {
          context: { cgroup: busy, podUid: uid },
        });
      }
      removed = true;
    }
    if (removed) await this.#share();
  }

  /** Returns the cgroup that could not be removed because something ran in it; that has been killed. */
  async #removed(path: string, folders: readonly string[], writer: CgroupWriter): Promise<string | undefined> {
    // systemd would wait for processes that ignore SIGTERM.
    const running = this.#naming.driver === 'systemd' ? await killAllIn(folders) : undefined;
    if (running !== undefined) return running;
    await writer.end(path);
    const busy = await removeFolders(folders);
    if (busy !== undefined) await killAllIn(folders);
    return busy;
  }

  #start(): Promise<Started> {
    this.#started ??= (async () => {
      const { mounts = await cgroupMounts() } = this.#options;
      const maker = this.#maker(mounts);
      const own = this.#options.mounts && [...new Set(mounts.controllers.values())];
      return {
        writer: new CgroupWriter(mounts, maker),
        hugepageSizes: await kernelHugepageSizes(),
        cpus: await onlineCpus(),
        hierarchies: own ?? (await cgroupHierarchies()),
      };
    })();
    return this.#started;
  }

  #maker(mounts: CgroupMounts): CgroupMaker {
    if (this.#naming.driver === 'cgroupfs') return new FolderMaker(mounts);
    const { units } = this.#options;
    if (units === undefined)
      throw new CgroupError('no-systemd', 'the cgroup driver systemd needs a connection to systemd');
    return new SliceMaker(mounts, units);
  }

  #know({ pod, qos }: ClassedPod): void {
    if (qos === BURSTABLE) this.#milliCpu.set(pod.metadata.uid, podMilliCpu(pod));
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
    const { writer, hugepageSizes } = await this.#start();
    for (const tier of ['burstable', 'besteffort'] as const) {
      const limits = tierLimits(tier, this.#milliCpuOf(writer.mounts, tier), hugepageSizes);
      await writer.ensure(tierPath(this.#naming, tier), limits);
    }
  }

  /**
   * What the tier's pods request together. Of pods of other instances the kernel knows the shares. These files are in memory: to read them
   * without leaving the event loop costs a tenth of what it costs otherwise.
   */
  #milliCpuOf({ version, controllers }: CgroupMounts, tier: CgroupTier): bigint {
    const mount = controllers.get('cpu');
    if (mount === undefined || tier !== 'burstable') return 0n;
    const folder = join(mount, tierPath(this.#naming, tier));
    let sum = 0n;
    for (const name of listed(folder)) {
      const uid = podOfCgroup(name, this.#naming.driver);
      if (uid === undefined) continue;
      const known = this.#milliCpu.get(uid);
      const text =
        known === undefined ? contentOf(join(folder, name, version === 1 ? 'cpu.shares' : 'cpu.weight')) : '';
      if (known !== undefined) sum += known;
      else if (text !== undefined) sum += milliCpuOf(version === 1 ? BigInt(text) : cpuSharesOf(BigInt(text)));
    }
    return sum;
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
