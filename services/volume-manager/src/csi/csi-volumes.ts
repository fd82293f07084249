import { type MountedVolume, uniqueCsiVolume } from '@kubus/contracts';
import { isMounted, listMounts } from '@kubus/filesystem';
import { Lanes } from '@kubus/flow';
import {
  PluginCallError,
  type CsiNode,
  type CsiUsage,
  type CsiUse as CsiCapability,
  type RegisteredDriver,
} from '@kubus/node-plugins';
import { type Clock, type Logger, hasErrno, ignoring, toError } from '@kubus/ports';
import { type CsiStep, type CsiVolumeName, csiDevicePlace, csiPodPath, csiStagingPlace } from '@kubus/volume';
import { mkdir, rmdir, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { CsiUseRecords, CsiUse } from './csi-use-records.ts';
import { CsiContext } from './csi-context.ts';
import { CsiExpander, type Expanded } from './csi-expander.ts';
import { FOLDER_MODE } from '../host/file-stat.ts';
import { pinDevice } from '../host/pin-device.ts';
import { giveToGroup } from '../host/ownership.ts';
import { type MadeVolume, VolumeAwaits, VolumeFailure, type VolumeEvent } from '../ports.ts';
import { unmountOrForce } from '../host/unmount-or-force.ts';
import type { ValueReader } from '../host/values.ts';

/**
 * How often a driver with requiresRepublish is called again, in milliseconds: about as often as the reference syncs a
 * pod.
 */
const REPUBLISH_MS = 60_000;

export interface CsiVolumesOptions {
  readonly root: string;
  /** The node's name. */
  readonly node: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: CsiUseRecords;
  /** Resolves with the driver; undefined when none of this name is registered. */
  readonly driver: (name: string) => Promise<RegisteredDriver | undefined>;
  readonly values: ValueReader | undefined;
  readonly expanded: (expanded: Expanded) => void;
}

type Report = (event: VolumeEvent) => void;

/**
 * Volumes of CSI drivers: staged once per node, published for each pod (CSI specification, Node Service; reference
 * kubelet, pkg/volume/csi). One operation at a time per volume, different volumes in parallel. Nothing here touches the
 * mounted file system, which might hang: the mount table shows what exists.
 */
export class CsiVolumes {
  readonly #options: CsiVolumesOptions;
  readonly #context: CsiContext;
  readonly #expander: CsiExpander;
  readonly #lanes = new Lanes();
  /** What this process has staged: after a restart the driver is called again, as the reference does. */
  readonly #staged = new Set<string>();
  readonly #published = new Set<string>();
  /** Published by this process, but not yet as its step asks: no container may start with it. */
  readonly #unfinished = new Set<string>();

  constructor(options: CsiVolumesOptions) {
    this.#options = options;
    this.#context = new CsiContext(options.values);
    this.#expander = new CsiExpander({ ...options, context: this.#context });
  }

  /** All recorded uses of volumes. */
  get uses(): readonly CsiUse[] {
    return this.#options.records.all;
  }

  make(step: CsiStep, report: Report): Promise<MadeVolume> {
    return this.#lanes.run(uniqueCsiVolume(step), () => this.#make(step, report));
  }

  async find(step: CsiStep): Promise<MountedVolume | undefined> {
    if (this.#unfinished.has(step.path)) return undefined;
    const { held } = csiDevicePlace(this.#options.root, step.pod.uid, step.specName);
    return (await isMounted(step.block ? held : step.path)) ? this.#shown(step) : undefined;
  }

  /**
   * Unpublishes and unstages everything of a pod. Throws VolumeFailure while a driver fails; all other volumes are
   * undone.
   */
  async remove(uid: string): Promise<void> {
    const uses = await this.#options.records.ofPod(uid);
    const undone = await Promise.allSettled(
      uses.map((use) => this.#lanes.run(uniqueCsiVolume(use), () => this.#remove(use))),
    );
    for (const result of undone) if (result.status === 'rejected') throw result.reason;
  }

  /** Usage of the volume at a pod's path; undefined when its driver reports none. Throws PluginCallError. */
  async stats(path: string): Promise<CsiUsage | undefined> {
    const { records, driver, root } = this.#options;
    const use = records.all.find((one) => csiPodPath(root, one.uid, one) === path);
    const { node } = (use && (await driver(use.driver))) ?? {};
    if (use === undefined || node === undefined || !(await node.can('GET_VOLUME_STATS'))) return undefined;
    return node.stats(use.volumeHandle, this.#target(use));
  }

  async #make(step: CsiStep, report: Report): Promise<MadeVolume> {
    const { records, clock } = this.#options;
    const node = await this.#node(step, NO_DRIVER[step.block ? 'device' : step.inline ? 'inline' : 'files']);
    const use = await records.begin(step);
    const isNew = !this.#published.has(step.path);
    if (isNew && !step.inline) await this.#stage(step, use, node);
    if (isNew || (step.requiresRepublish && !step.block)) await this.#publish(step, use, node, report);
    await this.#expander.expand(step, node, { path: this.#target(use), staging: this.#staging(step), isNew }, report);
    this.#published.add(step.path);
    this.#unfinished.delete(step.path);
    const volume = await this.#shown(step);
    const isRepublished = step.requiresRepublish && !step.block;
    return { volume, ...(isRepublished && { refreshAt: clock.now() + REPUBLISH_MS }) };
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
    const { records } = this.#options;
    const staging = this.#staging(step);
    if (this.#staged.has(staging)) return;
    const beginning = step.block ? 'MapVolume.SetUpDevice failed' : 'MountVolume.MountDevice failed';
    try {
      if (!(await node.can('STAGE_UNSTAGE_VOLUME'))) return;
      const secrets = await this.#context.secrets('NodeStageSecretRef', step.stageSecret);
      if (!(await isMounted(staging))) await records.beginStaging(step);
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
      // The driver guarantees that it has done nothing, so there is nothing to undo.
      if (isDecided(error) && records.others(use).length === 0 && !(await isMounted(staging))) {
        await records.endStaging(step);
        await this.#forget(use);
      }
      throw failure(step.block, beginning, step.specName, error);
    }
  }

  async #publish(step: CsiStep, use: CsiUse, node: CsiNode, report: Report): Promise<void> {
    const { records, clock, logger } = this.#options;
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
      if (step.block) await pinDevice(target, csiDevicePlace(this.#options.root, use.uid, use.specName).held);
      const mountsGroup = await node.can('VOLUME_MOUNT_GROUP');
      const isFirst = !this.#published.has(step.path);
      if (isFirst && step.fsGroup !== undefined && !mountsGroup) {
        const { readOnly, specName, pod, fsGroupChangePolicy: policy } = step;
        const wanted = { gid: step.fsGroup, readOnly, ...(policy !== undefined && { policy }) };
        await giveToGroup(step.path, wanted, { clock, logger, uid: pod.uid, specName, report });
      }
    } catch (error) {
      if (isDecided(error) && !wasThere && !(await isMounted(target))) {
        await removeTarget(target);
        // What is staged is unstaged with the pod, from its record.
        if (step.inline) await records.end(use);
      }
      throw failure(step.block, beginning, step.specName, error);
    }
  }

  async #remove(use: CsiUse): Promise<void> {
    const { records, driver: find, root } = this.#options;
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
    if (!use.inline && records.others(use).length === 0) await this.#unstage(use, node);
    await records.end(use);
  }

  async #unstage(use: CsiUse, node: CsiNode): Promise<void> {
    const { records } = this.#options;
    const staging = this.#staging(use);
    this.#staged.delete(staging);
    this.#expander.forget(use);
    if (await records.isStaged(use)) {
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
    await records.endStaging(use);
    if (use.block) await records.endDevice(use);
  }

  /** Forgets a use whose publishing failed for good. */
  async #forget(use: CsiUse): Promise<void> {
    const { records } = this.#options;
    if (use.block) await records.endDevice(use);
    await records.end(use);
  }

  /** Removes a mount that the driver should have removed. */
  async #undoMount(path: string): Promise<void> {
    await this.#undoMounts(path);
    await removeTarget(path);
  }

  async #undoMounts(path: string): Promise<void> {
    while (await isMounted(path)) await unmountOrForce(path, this.#options);
  }

  /** The target path at which the driver publishes the volume. */
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

/** The driver says that nothing was done and nothing will be done. */
function isDecided(error: unknown): boolean {
  return error instanceof PluginCallError && !error.isUndecided;
}

/** A driver that does not know the volume has nothing to undo. */
async function undone(action: Promise<void>, asFailure: (error: unknown) => Error): Promise<void> {
  try {
    await action;
  } catch (error) {
    if (error instanceof PluginCallError && error.code === 'NOT_FOUND') return;
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
