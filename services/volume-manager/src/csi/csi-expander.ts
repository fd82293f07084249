import { CsiError, type CsiNode } from '@kubus/csi';
import { uniqueCsiVolume } from '@kubus/contracts';
import { toError } from '@kubus/ports';
import { type CsiStep, type CsiVolumeName, expandedCapacity } from '@kubus/volume';
import type { CsiContext } from './csi-context.ts';
import { VolumeAwaits, VolumeFailure, type VolumeNews } from '../ports.ts';

/** A claim whose file system has been made as large as its volume; without `capacity` nothing is to be told of it any more. */
export interface Expanded {
  readonly claim: NonNullable<CsiStep['claim']>;
  /** A quantity. */
  readonly capacity?: string;
}

interface ExpandedPlace {
  readonly path: string;
  readonly staging: string;
  /** The volume is only being made for the pod: it does not start with less than it is to have. */
  readonly isNew: boolean;
}

export interface CsiExpanderOptions {
  /** The node's name. */
  readonly node: string;
  readonly context: CsiContext;
  readonly expanded: (expanded: Expanded) => void;
}

/** Has volumes made as large as their PersistentVolumes: each size once (kubelet behaviour 1.13, Resize). */
export class CsiExpander {
  readonly #node: string;
  readonly #context: CsiContext;
  readonly #expanded: (expanded: Expanded) => void;
  /** The claim, and the size that its volume has been made, or that its driver does not make while it is in use. */
  readonly #done = new Map<string, Expanded & { readonly bytes: string }>();

  constructor({ node, context, expanded }: CsiExpanderOptions) {
    this.#node = node;
    this.#context = context;
    this.#expanded = expanded;
  }

  /** Throws VolumeFailure and VolumeAwaits. A driver that does not do this on nodes has nothing to do here. */
  async expand(step: CsiStep, node: CsiNode, place: ExpandedPlace, tell: (news: VolumeNews) => void): Promise<void> {
    const { claim, expandTo } = step;
    if (claim === undefined) return;
    if (expandTo === undefined) {
      this.forget(step);
      return;
    }
    const { bytes } = expandTo;
    if (this.#done.get(uniqueCsiVolume(step))?.bytes === bytes) return;
    let made: string;
    try {
      if (!(await node.can('EXPAND_VOLUME'))) return;
      const secrets = await this.#context.secrets('NodeExpandSecretRef', step.expandSecret);
      const { block, fsType = '', mountOptions: mountFlags, accessMode } = step;
      const use = { block, fsType, mountFlags, accessMode };
      const { path, staging: stagingPath } = place;
      made = await node.expand({ volumeId: step.volumeHandle, path, stagingPath, bytes, use, secrets });
    } catch (error) {
      // Not while it is in use, says the driver: that keeps nobody from using it.
      if (error instanceof CsiError && error.code === 'FAILED_PRECONDITION') {
        this.#done.set(uniqueCsiVolume(step), { claim, bytes });
        return;
      }
      throw expansionFailure(step, place.isNew, error);
    }
    this.#done.set(uniqueCsiVolume(step), { claim, bytes });
    this.#expanded({ claim, capacity: expandedCapacity(expandTo, made) });
    const message = `MountVolume.NodeExpandVolume succeeded for volume "${step.specName}" ${this.#node}`;
    tell({ type: 'Normal', reason: 'FileSystemResizeSuccessful', message });
  }

  /** The volume has its size, or is not there any more. */
  forget(volume: CsiVolumeName): void {
    const done = this.#done.get(uniqueCsiVolume(volume));
    this.#done.delete(uniqueCsiVolume(volume));
    if (done !== undefined) this.#expanded({ claim: done.claim });
  }
}

function expansionFailure({ block, specName }: CsiStep, isNew: boolean, cause: unknown): Error {
  if (cause instanceof VolumeAwaits) return cause;
  const whenNew = block
    ? { reason: 'FailedMapVolume', beginning: 'MapVolume.MarkVolumeAsMounted failed while expanding volume' }
    : { reason: 'FailedMount', beginning: 'MountVolume.Setup failed while expanding volume' };
  const whenUsed = { reason: 'VolumeResizeFailed', beginning: 'NodeExpandVolume.NodeExpandVolume failed' };
  const { reason, beginning } = isNew ? whenNew : whenUsed;
  const message = `${beginning} for volume "${specName}" : Expander.NodeExpand failed to expand the volume : ${toError(cause).message}`;
  return new VolumeFailure(reason, message, { cause });
}
