import { type KubeWatcher, Reflector, type ReflectorListener, type ReflectorOptions } from '@kubus/kube';
import type { Clock, Logger } from '@kubus/ports';

/** What following objects of the API server requires. */
export interface ApiReader {
  readonly client: KubeWatcher;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Random number in [0, 1). */
  readonly random: () => number;
}

/** Starts to follow a collection. */
export function follow<T>(
  { client, clock, logger, random }: ApiReader,
  collection: Pick<ReflectorOptions<T>, 'path' | 'query' | 'parse'>,
  listener: ReflectorListener<T>,
): Reflector<T> {
  const reflector = new Reflector({ client, clock, logger, random, ...collection, listener });
  reflector.start();
  return reflector;
}
