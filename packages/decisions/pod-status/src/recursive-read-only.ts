import type { VolumeMount } from '@kubus/contracts';

/**
 * Whether a mount is recursively read-only, or why it cannot be as requested (KEP-3857).
 *
 * @param supported whether the pod's runtime handler supports such mounts
 */
export function recursiveReadOnly(
  { name, readOnly, mountPropagation = 'None', recursiveReadOnly: mode = 'Disabled' }: VolumeMount,
  supported: boolean,
): boolean | { readonly refusal: string } {
  if (mode === 'Disabled') return false;
  const asked = `volume "${name}" requested recursive read-only mode, but it is not`;
  if (readOnly !== true) return { refusal: `${asked} read-only` };
  if (mountPropagation !== 'None') return { refusal: `${asked} compatible with propagation "${mountPropagation}"` };
  if (mode === 'IfPossible') return supported;
  if (mode !== 'Enabled') return { refusal: `unknown recursive read-only mode "${mode}"` };
  return supported || { refusal: `${asked} supported by the runtime` };
}
