import { formatQuantity, parseQuantity, quantityUnits } from '@kubus/contracts';
import type { VolumePlan } from './step.ts';

/** A volume on the node's disk that is not to become larger than its pod says. */
export interface LimitedFolder {
  readonly name: string;
  readonly path: string;
  /** A quantity of bytes. */
  readonly sizeLimit: string;
}

/** The volumes whose size is to be looked at: file systems in memory keep their own limit. */
export function limitedFolders(plans: readonly VolumePlan[]): LimitedFolder[] {
  return plans.flatMap((plan) => {
    if (!('step' in plan) || plan.step.kind !== 'folder') return [];
    const { path, sizeLimit } = plan.step;
    return sizeLimit === undefined ? [] : [{ name: plan.name, path, sizeLimit }];
  });
}

/** Why the pod of a volume that has so many bytes is evicted (kubelet behaviour 1.19, local storage); undefined: it is not. */
export function sizeExcess({ name, sizeLimit }: Omit<LimitedFolder, 'path'>, bytes: bigint): string | undefined {
  const limit = parseQuantity(sizeLimit);
  if (limit === undefined) return undefined;
  const most = quantityUnits(limit);
  if (most <= 0n || bytes <= most) return undefined;
  return `Usage of EmptyDir volume "${name}" exceeds the limit "${formatQuantity(limit)}". `;
}
