import type { Image, ImageStatusResponse } from '@kubus/proto/cri';
import { formatBytes } from '@kubus/images';
import { formatTable } from '../output/table.ts';

/** An image as `kubus image ls -o json` prints it. */
export interface ImageDocument {
  /** Digest of its configuration, and the runtime's name for it. */
  readonly id: string;
  /** Full names with tags. */
  readonly names: readonly string[];
  /** Full names with the digest of the manifest or index. */
  readonly digests: readonly string[];
  readonly sizeBytes: number;
}

export function imageDocument({ id = '', repoTags = [], repoDigests = [], size = '0' }: Image): ImageDocument {
  return { id, names: repoTags, digests: repoDigests, sizeBytes: Number(size) };
}

/** An image with its platform and configuration, as far as the runtime says. */
export function imageDetails({ image = {}, info = {} }: ImageStatusResponse): ImageDocument & { spec: unknown } {
  const { imageSpec } = JSON.parse(info['info'] ?? '{}') as { imageSpec?: unknown };
  return { ...imageDocument(image), spec: imageSpec };
}

/** One row for each name, sorted; an image without a tag has its digest. */
export function imageTable(images: readonly ImageDocument[]): string {
  const rows = images.flatMap(({ id, names, digests, sizeBytes }) => {
    const shownId = id.replace(/^sha256:/, '').slice(0, 12);
    return (names.length > 0 ? names : digests.slice(0, 1)).map((name) => [name, shownId, formatBytes(sizeBytes)]);
  });
  return formatTable(
    ['NAME', 'ID', 'SIZE'],
    rows.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)),
  );
}
