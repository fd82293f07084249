import type { Toleration } from '@kubus/contracts';
import type { Taint } from '../admission-node.ts';

/** Whether a `NoExecute` taint is not tolerated. The other effects concern schedulers only. */
export function isRepelled(taints: readonly Taint[], tolerations: readonly Toleration[]): boolean {
  return taints.some(
    (taint) => taint.effect === 'NoExecute' && !tolerations.some((toleration) => tolerates(toleration, taint)),
  );
}

/** Whether a toleration is for the taint. An empty key or effect matches all. */
export function tolerates({ key = '', operator = '', value = '', effect = '' }: Toleration, taint: Taint): boolean {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return (operator === '' || operator === 'Equal') && value === (taint.value ?? '');
}
