import { type KubeWatcher, Reflector, type ReflectorListener, type ReflectorOptions } from '@kubus/kube';
import type { Clock, Logger } from '@kubus/ports';

/** What everything here needs to follow the API server. */
export interface ApiReader {
  readonly client: KubeWatcher;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Between 0 and 1. */
  readonly random: () => number;
}

/** Begins to follow a collection. */
export function follow<T>(
  { client, clock, logger, random }: ApiReader,
  collection: Pick<ReflectorOptions<T>, 'path' | 'query' | 'parse'>,
  listener: ReflectorListener<T>,
): Reflector<T> {
  const reflector = new Reflector({ client, clock, logger, random, ...collection, listener });
  reflector.start();
  return reflector;
}
