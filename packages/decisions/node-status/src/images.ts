/** An image of the runtime. */
export interface NodeImage {
  /** Names by digest first, then names by tag. */
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

/** The maximum number of names that are listed for an image (behaviour:node-object, Images). */
const NAMES = 5;

/** The largest images, which a scheduler uses for scoring, in a stable order for equal sizes. -1: all. */
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
