/** An image that the runtime has. */
export interface NodeImage {
  /** By digest first, then by tag. */
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

/** How many names of an image are told (kubelet behaviour 1.16, Images). */
const NAMES = 5;

/** The largest images, which is what a scheduler wants to know of; of those of one size always the same. -1: all. */
export function nodeImages(images: readonly NodeImage[], max: number): NodeImage[] {
  const sorted = [...images].sort((a, b) => b.sizeBytes - a.sizeBytes || compare(a.names[0], b.names[0]));
  return (max < 0 ? sorted : sorted.slice(0, max)).map(({ names, sizeBytes }) => ({
    names: names.slice(0, NAMES),
    sizeBytes,
  }));
}

function compare(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
