import { asText, at } from '@kubus/kube-objects';
import { ADMIN } from '../identity.ts';
import type { Registry } from '../registry.ts';
import { targetOf } from '../target.ts';

/** How long events are kept, in milliseconds, as in the reference (--event-ttl). */
const KEPT_MS = 3_600_000;
/** How often old ones are removed, in milliseconds. */
const EVERY_MS = 60_000;

/** Removes events that nothing has repeated for an hour. Returns a function that ends it. */
export function startOldEvents(registry: Registry, onError: (error: Error) => void): () => void {
  const look = () => {
    const oldest = registry.now() - KEPT_MS;
    for (const event of registry.store.list('events')) {
      const { namespace = '', name, creationTimestamp } = event.metadata;
      const last = asText(at(event, 'series', 'lastObservedTime') ?? event['lastTimestamp']);
      if (Date.parse(last === '' ? creationTimestamp : last) >= oldest) continue;
      registry.delete(targetOf({ kind: 'Event', namespace, name }), { user: ADMIN });
    }
  };
  const timer = setInterval(() => {
    try {
      look();
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)));
    }
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
