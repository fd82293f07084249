import type { Bus, Cause } from '@kubus/bus';
import { type ServiceShare, type SharedService, serviceShare } from '@kubus/contracts';

/**
 * Reports which instances of a service share the pods: as soon as that is known, and with each change.
 *
 * @param otherwise used while the launcher has published nothing about the service (see `configuredShare`).
 */
export function followShare(
  bus: Bus,
  service: SharedService,
  otherwise: ServiceShare,
  onShare: (share: ServiceShare, causes: readonly Cause[]) => void,
): void {
  const shares = bus.reader(serviceShare, {
    changed: ({ key, value, cause }) => {
      if (key === service) onShare(value, [cause]);
    },
  });
  void shares.whenPresent().then(() => {
    if (shares.get(service) === undefined) onShare(otherwise, []);
  });
}
