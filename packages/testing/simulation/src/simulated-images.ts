import { type CriBridgeOptions, PullCredentials, PulledImages } from '@kubus/cri-bridge';
import { type Logger, KubusError } from '@kubus/ports';
import type { Disk } from './disk.ts';
import type { ProcessGuard } from './process-guard.ts';

/** What a cri-bridge pulls with: no credentials, and the records of what was pulled. */
export async function simulatedImages(
  disk: Disk,
  guard: ProcessGuard,
  logger: Logger,
): Promise<CriBridgeOptions['images']> {
  const [pulling, pulled] = [disk.store('pulling', guard), disk.store('pulled', guard)];
  return {
    credentials: new PullCredentials({
      objects: { read: () => Promise.reject(new KubusError('NoObjectCache', 'there is no object-cache')) },
      node: { for: () => guard.promise(Promise.resolve([])) },
    }),
    pulled: await PulledImages.load({ pulling, pulled, logger }),
    limits: { rate: undefined, atOnce: 1 },
    verification: { policy: 'NeverVerifyPreloadedImages', allowlist: [] },
  };
}
