import { uniqueCsiVolume } from '@kubus/contracts';
import { PluginCallError, type CsiNode } from '@kubus/node-plugins';
import { toError } from '@kubus/ports';
import { type CsiStep, type CsiVolumeName, expandedCapacity } from '@kubus/volume';
import type { CsiContext } from './csi-context.ts';
import { VolumeAwaits, VolumeFailure, type VolumeEvent } from '../ports.ts';

/** A claim whose file system was expanded to its volume's size; without `capacity` nothing more has to be published about it. */
export interface Expanded {
  readonly claim: NonNullable<CsiStep['claim']>;
  /** The size, as a quantity. */
  readonly capacity?: string;
}

interface ExpandedPlace {
  readonly path: string;
  readonly staging: string;
  /**
   * The volume is being mounted for the first time for the pod: the pod must not start with less than the requested
   * size.
   */
  readonly isNew: boolean;
}

export interface CsiExpanderOptions {
  /** The node's name. */
  readonly node: string;
  readonly context: CsiContext;
  readonly expanded: (expanded: Expanded) => void;
}

/** Expands volumes on the node to the size of their PersistentVolumes, once per size (behaviour:volumes, Resize). */
export class CsiExpander {
  readonly #node: string;
  readonly #context: CsiContext;
  readonly #expanded: (expanded: Expanded) => void;
  /** The claim, and the size that its volume has, or that its driver does not expand to while it is in use. */
  readonly #done = new Map<string, Expanded & { readonly bytes: string }>();

  constructor({ node, context, expanded }: CsiExpanderOptions) {
    this.#node = node;
    this.#context = context;
    this.#expanded = expanded;
  }

  /** Does nothing when the driver does not expand on nodes. Throws VolumeFailure and VolumeAwaits. */
  async expand(
    step: CsiStep,
    node: CsiNode,
    place: ExpandedPlace,
    report: (event: VolumeEvent) => void,
  ): Promise<void> {
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
      // The driver does not expand a volume in use; the pod may use it as it is.
      if (error instanceof PluginCallError && error.code === 'FAILED_PRECONDITION') {
        this.#done.set(uniqueCsiVolume(step), { claim, bytes });
        return;
      }
      throw expansionFailure(step, place.isNew, error);
    }
    this.#done.set(uniqueCsiVolume(step), { claim, bytes });
    this.#expanded({ claim, capacity: expandedCapacity(expandTo, made) });
    const message = `MountVolume.NodeExpandVolume succeeded for volume "${step.specName}" ${this.#node}`;
    report({ type: 'Normal', reason: 'FileSystemResizeSuccessful', message });
  }

  /** To be called when the volume has been removed, or no longer needs an expansion. */
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
