import { noObjects } from '@kubus/object-socket';
import { silentLogger } from '@kubus/ports';
import { MemoryRecords } from '@kubus/ports/testing';
import { type CriBridgeOptions, PullCredentials, PulledImages } from '../src/index.ts';

/** The image side of a bridge on a node without credentials, whose images stay. */
export async function imagePorts(): Promise<Pick<CriBridgeOptions, 'images' | 'imageGc'>> {
  return {
    images: {
      credentials: new PullCredentials({
        objects: noObjects,
        node: { for: () => Promise.resolve([]) },
      }),
      pulled: await PulledImages.load({
        pulling: new MemoryRecords(),
        pulled: new MemoryRecords(),
        logger: silentLogger,
      }),
      limits: { rate: undefined, atOnce: 1 },
      verification: { policy: 'NeverVerifyPreloadedImages', allowlist: [] },
    },
    imageGc: {
      keep: [],
      policy: { highPercent: 100, lowPercent: 80, minAgeMs: 0, maxAgeMs: 0 },
      space: () => Promise.resolve({ capacity: 1, available: 1 }),
    },
  };
}
