import { formatQuantity, parseQuantity, quantityUnits } from '@kubus/contracts';
import type { FolderStep, VolumePlan } from './step.ts';

/** A volume on the node's disk with a size limit. */
export interface LimitedFolder {
  readonly name: string;
  readonly path: string;
  /** See {@link FolderStep}. */
  readonly quota?: FolderStep['quota'];
  /** A quantity of bytes. */
  readonly sizeLimit: string;
}

/** The volumes whose size has to be measured: file systems in memory enforce their own limit. */
export function limitedFolders(plans: readonly VolumePlan[]): LimitedFolder[] {
  return plans.flatMap((plan) => {
    if (!('step' in plan) || plan.step.kind !== 'folder') return [];
    const { path, quota, sizeLimit } = plan.step;
    return sizeLimit === undefined ? [] : [{ name: plan.name, path, sizeLimit, ...(quota && { quota }) }];
  });
}

/** Why a pod is evicted whose volume has this number of bytes (behaviour:eviction, local storage); undefined: it is not evicted. */
export function sizeExcess(
  { name, sizeLimit }: Omit<LimitedFolder, 'path' | 'quota'>,
  bytes: bigint,
): string | undefined {
  const limit = parseQuantity(sizeLimit);
  if (limit === undefined) return undefined;
  const most = quantityUnits(limit);
  if (most <= 0n || bytes <= most) return undefined;
  return `Usage of EmptyDir volume "${name}" exceeds the limit "${formatQuantity(limit)}". `;
}
