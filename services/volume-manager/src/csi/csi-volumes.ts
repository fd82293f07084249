import { CsiError, type CsiNode, type CsiUsage, type CsiUse as CsiCapability, type RegisteredDriver } from '@kubus/csi';
import { type MountedVolume, uniqueCsiVolume } from '@kubus/contracts';
import { isMounted, listMounts } from '@kubus/mount';
import { type Clock, type Logger, hasErrno, ignoring, toError } from '@kubus/ports';
import { type CsiStep, type CsiVolumeName, csiDevicePlace, csiPodPath, csiStagingPlace } from '@kubus/volume';
import { mkdir, rmdir, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { CsiBooks, CsiUse } from './csi-books.ts';
import { CsiContext } from './csi-context.ts';
import { CsiExpander, type Expanded } from './csi-expander.ts';
import { FOLDER_MODE } from '../file-stat.ts';
import { holdDevice } from '../hold-device.ts';
import { giveToGroup } from '../ownership.ts';
import { type MadeVolume, VolumeAwaits, VolumeFailure, type VolumeNews } from '../ports.ts';
import { Turns } from '../turns.ts';
import { unmountSurely } from '../unmount-surely.ts';
import type { ValueReader } from '../values.ts';

/** How often a driver is called again that wants that: about as often as the reference syncs a pod. */
const REPUBLISH_MS = 60_000;

export interface CsiVolumesOptions {
  readonly root: string;
  /** The node's name. */
  readonly node: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly books: CsiBooks;
  /** Resolves with the driver; undefined when none of this name is registered. */
  readonly driver: (name: string) => Promise<RegisteredDriver | undefined>;
  readonly values: ValueReader | undefined;
  readonly expanded: (expanded: Expanded) => void;
}

type Tell = (news: VolumeNews) => void;

/**
 * Volumes that CSI drivers make: staged once for the node, published for each pod (CSI specification, Node Service; reference
 * kubelet, pkg/volume/csi). One thing at a time for a volume, different volumes at once. Nothing here looks at what a driver
 * has mounted, which might hang: the list of mounts says what is there.
 */
export class CsiVolumes {
  readonly #options: CsiVolumesOptions;
  readonly #context: CsiContext;
  readonly #expander: CsiExpander;
  readonly #turns = new Turns();
  /** What this life has had made: a driver is asked for it again after a restart, as the reference does. */
  readonly #staged = new Set<string>();
  readonly #published = new Set<string>();
  /** What this life has had published, but is not as its step says yet: nobody is to start with it. */
  readonly #unfinished = new Set<string>();

  constructor(options: CsiVolumesOptions) {
    this.#options = options;
    this.#context = new CsiContext(options.values);
    this.#expander = new CsiExpander({ ...options, context: this.#context });
  }

  /** Every use of a volume that is known of. */
  get uses(): readonly CsiUse[] {
    return this.#options.books.all;
  }

  make(step: CsiStep, tell: Tell): Promise<MadeVolume> {
    return this.#turns.run(uniqueCsiVolume(step), () => this.#make(step, tell));
  }

  async find(step: CsiStep): Promise<MountedVolume | undefined> {
    if (this.#unfinished.has(step.path)) return undefined;
    const { held } = csiDevicePlace(this.#options.root, step.pod.uid, step.specName);
    return (await isMounted(step.block ? held : step.path)) ? this.#shown(step) : undefined;
  }

  /** Has everything of a pod undone. Throws VolumeFailure as long as a driver does not do that; all others are undone. */
  async remove(uid: string): Promise<void> {
    const uses = await this.#options.books.ofPod(uid);
    const undone = await Promise.allSettled(
      uses.map((use) => this.#turns.run(uniqueCsiVolume(use), () => this.#remove(use))),
    );
    for (const result of undone) if (result.status === 'rejected') throw result.reason;
  }

  /** What the volume at a path of a pod's holds; undefined where its driver does not tell. Throws CsiError. */
  async stats(path: string): Promise<CsiUsage | undefined> {
    const { books, driver, root } = this.#options;
    const use = books.all.find((one) => csiPodPath(root, one.uid, one) === path);
    const { node } = (use && (await driver(use.driver))) ?? {};
    if (use === undefined || node === undefined || !(await node.can('GET_VOLUME_STATS'))) return undefined;
    return node.stats(use.volumeHandle, this.#target(use));
  }

  async #make(step: CsiStep, tell: Tell): Promise<MadeVolume> {
    const { books, clock } = this.#options;
    const node = await this.#node(step, NO_DRIVER[step.block ? 'device' : step.inline ? 'inline' : 'files']);
    const use = await books.begin(step);
    const isNew = !this.#published.has(step.path);
    if (isNew && !step.inline) await this.#stage(step, use, node);
    if (isNew || (step.requiresRepublish && !step.block)) await this.#publish(step, use, node, tell);
    await this.#expander.expand(step, node, { path: this.#target(use), staging: this.#staging(step), isNew }, tell);
    this.#published.add(step.path);
    this.#unfinished.delete(step.path);
    const volume = await this.#shown(step);
    const comesAgain = step.requiresRepublish && !step.block;
    return { volume, ...(comesAgain && { againAt: clock.now() + REPUBLISH_MS }) };
  }

  async #node(
    { driver: name, specName, block }: CsiStep,
    [beginning, detail]: readonly [string, string],
  ): Promise<CsiNode> {
    const driver = await this.#options.driver(name);
    if (driver !== undefined) return driver.node;
    throw failure(block, beginning, specName, new Error(`kubernetes.io/csi: ${detail}: ${notFound(name)}`));
  }

  async #stage(step: CsiStep, use: CsiUse, node: CsiNode): Promise<void> {
    const { books } = this.#options;
    const staging = this.#staging(step);
    if (this.#staged.has(staging)) return;
    const beginning = step.block ? 'MapVolume.SetUpDevice failed' : 'MountVolume.MountDevice failed';
    try {
      if (!(await node.can('STAGE_UNSTAGE_VOLUME'))) return;
      const secrets = await this.#context.secrets('NodeStageSecretRef', step.stageSecret);
      if (!(await isMounted(staging))) await books.beginStaging(step);
      await node.stage({
        volumeId: step.volumeHandle,
        publishContext: step.publishContext,
        stagingPath: staging,
        use: await capability(step, node),
        secrets,
        volumeContext: step.volumeAttributes,
      });
      this.#staged.add(staging);
    } catch (error) {
      // The driver is sure that it has done nothing: neither is there anything to be undone.
      if (isDecided(error) && books.others(use).length === 0 && !(await isMounted(staging))) {
        await books.endStaging(step);
        await this.#forget(use);
      }
      throw failure(step.block, beginning, step.specName, error);
    }
  }

  async #publish(step: CsiStep, use: CsiUse, node: CsiNode, tell: Tell): Promise<void> {
    const { books, clock, logger } = this.#options;
    const target = this.#target(use);
    const beginning = step.block ? 'MapVolume.MapPodDevice failed' : 'MountVolume.SetUp failed';
    const wasThere = await isMounted(target);
    if (!wasThere) this.#unfinished.add(step.path);
    try {
      const secrets = await this.#context.secrets('NodePublishSecretRef', step.publishSecret);
      await mkdir(dirname(target), { recursive: true, mode: FOLDER_MODE });
      await node.publish({
        volumeId: step.volumeHandle,
        publishContext: step.publishContext,
        stagingPath: step.inline ? '' : this.#staging(step),
        path: target,
        use: await capability(step, node),
        readOnly: step.readOnly,
        secrets,
        volumeContext: await this.#context.ofPod(step),
      });
      if (step.block) await holdDevice(target, csiDevicePlace(this.#options.root, use.uid, use.specName).held);
      const mountsGroup = await node.can('VOLUME_MOUNT_GROUP');
      const isFirst = !this.#published.has(step.path);
      if (isFirst && step.fsGroup !== undefined && !mountsGroup) {
        const { readOnly, specName, pod, fsGroupChangePolicy: policy } = step;
        const wanted = { gid: step.fsGroup, readOnly, ...(policy !== undefined && { policy }) };
        await giveToGroup(step.path, wanted, { clock, logger, uid: pod.uid, specName, tell });
      }
    } catch (error) {
      if (isDecided(error) && !wasThere && !(await isMounted(target))) {
        await removeTarget(target);
        // What is staged is unstaged with the pod, by what the books say of it.
        if (step.inline) await books.end(use);
      }
      throw failure(step.block, beginning, step.specName, error);
    }
  }

  async #remove(use: CsiUse): Promise<void> {
    const { books, driver: find, root } = this.#options;
    const driver = await find(use.driver);
    const target = this.#target(use);
    for (const paths of [this.#published, this.#unfinished]) paths.delete(csiPodPath(root, use.uid, use));
    if (use.block) await this.#undoMount(csiDevicePlace(root, use.uid, use.specName).held);
    const tearDown = use.block ? 'UnmapVolume.UnmapPodDevice failed' : 'UnmountVolume.TearDown failed';
    const place = use.block ? 'blockMapper.UnmapPodDevice' : 'Unmounter.TearDownAt';
    const unknown = new Error(`kubernetes.io/csi: ${place} failed to get CSI client: ${notFound(use.driver)}`);
    if (driver === undefined) throw failure(use.block, tearDown, use.specName, unknown);
    const { node } = driver;
    await undone(node.unpublish(use.volumeHandle, target), (error) =>
      failure(use.block, tearDown, use.specName, prefixed(`${place} failed`, error)),
    );
    await this.#undoMount(target);
    if (!use.inline && books.others(use).length === 0) await this.#unstage(use, node);
    await books.end(use);
  }

  async #unstage(use: CsiUse, node: CsiNode): Promise<void> {
    const { books } = this.#options;
    const staging = this.#staging(use);
    this.#staged.delete(staging);
    this.#expander.forget(use);
    if (await books.isStaged(use)) {
      const [beginning, place] = use.block
        ? ['UnmapDevice.TearDownDevice failed', 'blockMapper.unstageVolumeForBlock failed']
        : ['UnmountDevice failed', 'attacher.UnmountDevice failed'];
      const asFailure = (error: unknown) => failure(use.block, beginning, use.specName, prefixed(place, error));
      const unstaged = async () => {
        if (await node.can('STAGE_UNSTAGE_VOLUME')) await node.unstage(use.volumeHandle, staging);
      };
      await undone(unstaged(), asFailure);
      await this.#undoMounts(staging);
    }
    await books.endStaging(use);
    if (use.block) await books.endDevice(use);
  }

  /** What was begun for the pod has come to nothing. */
  async #forget(use: CsiUse): Promise<void> {
    const { books } = this.#options;
    if (use.block) await books.endDevice(use);
    await books.end(use);
  }

  /** Takes away what a driver should have taken away. */
  async #undoMount(path: string): Promise<void> {
    await this.#undoMounts(path);
    await removeTarget(path);
  }

  async #undoMounts(path: string): Promise<void> {
    while (await isMounted(path)) await unmountSurely(path, this.#options);
  }

  /** What the driver is told to publish the volume at. */
  #target(use: CsiUse): string {
    const { root } = this.#options;
    return use.block ? csiDevicePlace(root, use.uid, use.specName).published : csiPodPath(root, use.uid, use);
  }

  #staging(volume: CsiVolumeName): string {
    return csiStagingPlace(this.#options.root, volume).staging;
  }

  async #shown({ path, readOnly, block }: CsiStep): Promise<MountedVolume> {
    const about = { hostPath: path, ...(readOnly && { readOnly }) };
    if (block) return { ...about, device: true };
    const hasLabels = (await listMounts()).some((one) => one.target === path && one.options.includes('seclabel'));
    return { ...about, ...(hasLabels && !readOnly && { relabel: true }) };
  }
}

const NO_DRIVER = {
  files: ['MountVolume.MountDevice failed', 'attacher.MountDevice failed to create newCsiDriverClient'],
  inline: ['MountVolume.SetUp failed', 'mounter.SetUpAt failed to get CSI client'],
  device: ['MapVolume.SetUpDevice failed', 'blockMapper.SetUpDevice failed to get CSI client'],
} as const;

function notFound(driver: string): string {
  return `driver name ${driver} not found in the list of registered CSI drivers`;
}

/** The driver says that nothing was done and nothing will be. */
function isDecided(error: unknown): boolean {
  return error instanceof CsiError && !error.isUndecided;
}

/** A driver that does not know the volume has nothing to undo. */
async function undone(action: Promise<void>, asFailure: (error: unknown) => Error): Promise<void> {
  try {
    await action;
  } catch (error) {
    if (error instanceof CsiError && error.code === 'NOT_FOUND') return;
    throw asFailure(error);
  }
}

function failure(block: boolean, beginning: string, specName: string, cause: unknown): Error {
  if (cause instanceof VolumeAwaits) return cause;
  const message = `${beginning} for volume "${specName}" : ${toError(cause).message}`;
  return new VolumeFailure(block ? 'FailedMapVolume' : 'FailedMount', message, { cause });
}

function prefixed(what: string, error: unknown): Error {
  return new Error(`kubernetes.io/csi: ${what}: ${toError(error).message}`);
}

async function capability(step: CsiStep, node: CsiNode): Promise<CsiCapability> {
  const { block, fsType = '', mountOptions: mountFlags, accessMode, mountGroup } = step;
  const group = mountGroup !== undefined && (await node.can('VOLUME_MOUNT_GROUP')) ? { group: mountGroup } : {};
  return { block, fsType, mountFlags, accessMode, ...group };
}

async function removeTarget(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    if (hasErrno(error, 'ENOTDIR')) await ignoring('ENOENT', unlink(path));
    else if (!hasErrno(error, 'ENOENT')) throw error;
  }
}
