import {
  type CgroupLimits,
  type CgroupNaming,
  type MemoryReserve,
  type PodLimitSettings,
  type ProtectedMemory,
  allPodsLimits,
  namedPath,
  podLimits,
  podOfCgroup,
  podPath,
  protectedMemory,
  reservedTierMemory,
  sharedLimits,
  tierLimits,
  tierOf,
  tierPath,
} from '@kubus/cgroup-config';
import type { ResourceList } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CgroupError, type CgroupMaker, FolderMaker, SliceMaker, type UnitManager } from './cgroup-maker.ts';
import { CgroupWriter } from './cgroup-writer.ts';
import { onlineCpus } from './cpus.ts';
import { type CgroupMounts, cgroupHierarchies, cgroupMounts, cgroupTree, removeFolders } from './hierarchies.ts';
import { kernelHugepageSizes } from './kernel-memory.ts';
import { missingCgroup } from './missing-cgroup.ts';
import { type ClassedPod, PodRequests, contentOf } from './pod-requests.ts';
import { killAllIn } from './processes.ts';

/** Thrown when a cgroup cannot be removed because a process is in it. */
export class CgroupBusy extends KubusError {}

interface PodCgroupOptions extends Partial<CgroupNaming>, Omit<PodLimitSettings, 'hugepageSizes'> {
  /** What all pods may use together: `cpu`, `memory`, `pid` and huge pages. Omitted: they are not limited together. */
  readonly allocatable?: ResourceList;
  /**
   * The memory that pods of higher classes have requested and lower ones cannot use (qosReserved). Counts the pods of this instance alone.
   * Omitted: none.
   */
  readonly reserve?: MemoryReserve | undefined;
  /** Default: those of the machine. */
  readonly mounts?: CgroupMounts;
  /** systemd; required for the driver `systemd`. */
  readonly units?: UnitManager;
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
/** What is used may grow between the look at it and the limit. */
const MEMORY_TRIES = 5;

/**
 * The pods' cgroups (behaviour:qos-and-cgroups): `<root>/kubepods/<class>/pod<uid>`, or slices of the same names. Whatever it
 * does is read from the machine, so that several instances can each look after their own pods.
 */
export class PodCgroupTree {
  readonly #naming: CgroupNaming;
  readonly #options: PodCgroupOptions;
  readonly #requests: PodRequests;
  #started: Promise<Started> | undefined;
  #sharing: Promise<void> = Promise.resolve();
  #sharingDue: Promise<void> | undefined;
  #protected: ProtectedMemory = { pods: 0n, burstable: 0n };

  /** `root`: the cgroup below which the node's pods live; default `/`, the machine's own. Default driver: cgroupfs. */
  constructor(options: PodCgroupOptions) {
    const { root = '/', driver = 'cgroupfs' } = options;
    this.#naming = { root, driver };
    this.#options = options;
    this.#requests = new PodRequests(this.#naming);
  }

  /** The bytes that are protected in the cgroups above the pods' (memoryReservationPolicy). */
  get protectedMemory(): ProtectedMemory {
    return this.#protected;
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
    this.#requests.know({ pod, qos });
    const path = podPath(this.#naming, pod.metadata.uid, qos);
    await writer.ensure(path, podLimits(pod, { ...this.#options, hugepageSizes }));
    await this.#share();
  }

  /** Makes the cgroup of all pods, with what they may use together. Throws {@link CgroupError}. */
  async ensureAll(): Promise<void> {
    const { allocatable } = this.#options;
    if (allocatable === undefined) return;
    const { writer, hugepageSizes, cpus } = await this.#start();
    await writer.ensure(this.path, allPodsLimits(allocatable, { hugepageSizes, cpus }));
  }

  /**
   * Gives the cgroups above the pods' their limits again: another program may have changed them, and an earlier agent may have given pods
   * other requests. Throws {@link CgroupError}.
   *
   * @param pods all that run here
   */
  async refresh(pods: Iterable<ClassedPod>): Promise<void> {
    this.#requests.forgetAll();
    for (const pod of pods) this.#requests.know(pod);
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
    const protectsMemory = this.#options.memoryReservation !== undefined;
    const limits = sharedLimits(reserved, { hugepageSizes, cpus, compressible, protectsMemory });
    await writer.change(namedPath(name, driver), limits);
  }

  /** Bytes of memory that everything in the pod's cgroup uses; undefined when there is none. */
  async memoryUsage(uid: string, qos: string): Promise<bigint | undefined> {
    const { writer } = await this.#start();
    return usedMemory(writer.mounts, this.parent(uid, qos));
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
    this.#requests.forget(uid);
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
    this.#requests.forget(uid);
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
    const { memoryReservation, reserve } = this.#options;
    if (memoryReservation !== undefined) await this.#protect(writer, memoryReservation);
    const memory = reserve && reservedTierMemory(this.#requests.memory(writer.mounts), reserve);
    for (const tier of ['burstable', 'besteffort'] as const) {
      const limits = tierLimits(tier, this.#requests.milliCpu(writer.mounts, tier), hugepageSizes);
      await this.#ensureTier(writer, tierPath(this.#naming, tier), limits, memory?.[tier]);
    }
  }

  async #protect(writer: CgroupWriter, reservation: NonNullable<PodLimitSettings['memoryReservation']>): Promise<void> {
    const memory = protectedMemory(this.#requests.memory(writer.mounts), reservation);
    await writer.ensure(this.path, { memoryMin: memory.pods });
    await writer.ensure(tierPath(this.#naming, 'burstable'), { memoryLow: memory.burstable });
    this.#protected = memory;
  }

  /** @param memory a limit in bytes. Where more is used that cannot be taken back, the limit is that, so that it does not grow */
  async #ensureTier(
    writer: CgroupWriter,
    path: string,
    limits: CgroupLimits,
    memory: bigint | undefined,
  ): Promise<void> {
    if (memory === undefined) return writer.ensure(path, limits);
    let limit = memory;
    for (let triesLeft = MEMORY_TRIES; ; triesLeft -= 1) {
      try {
        await writer.ensure(path, { ...limits, memory: limit });
        return;
      } catch (error) {
        const used = usedMemory(writer.mounts, path);
        if (triesLeft === 1 || used === undefined) throw error;
        limit = used > memory ? used : memory;
      }
    }
  }
}

/** Bytes of memory that everything in a cgroup uses; undefined when there is none. */
function usedMemory({ version, controllers }: CgroupMounts, path: string): bigint | undefined {
  const mount = controllers.get('memory');
  const file = version === 1 ? 'memory.usage_in_bytes' : 'memory.current';
  const text = mount === undefined ? undefined : contentOf(join(mount, path, file));
  return text === undefined ? undefined : BigInt(text);
}
