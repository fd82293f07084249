import type { Container } from '@kubus/contracts';
import { goJson } from '@kubus/pod';

/**
 * The hash of the properties that require a new container when they change: name and image. A running container whose annotation
 * `io.kubernetes.container.hash` differs is replaced. The bytes are those of the reference kubelet (FNV-32a over the
 * printed JSON of the two), so that either agent takes over the other's containers without a restart.
 */
export function containerHash(container: Pick<Container, 'name' | 'image'>): string {
  const json = goJson({ image: container.image ?? '', name: container.name });
  let hash = 0x811c9dc5;
  for (const char of `([]uint8)[${new TextEncoder().encode(json).join(' ')}]`) {
    hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193) >>> 0;
  }
  return hash.toString(16);
}
