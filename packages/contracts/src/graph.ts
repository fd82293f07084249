import type { AnyCommand, AnyEvent, AnyFact } from './declare.ts';

/**
 * What one service says and hears. The start-up check, the broker's permissions, `kubus graph` and the published
 * contract all read these lists; nothing else gives a service the right to a subject.
 */
export interface ServiceContract {
  readonly about: string;
  readonly owns: readonly AnyFact[];
  readonly reads: readonly AnyFact[];
  readonly serves: readonly AnyCommand[];
  readonly calls: readonly AnyCommand[];
  readonly publishes: readonly AnyEvent[];
  readonly hears: readonly AnyEvent[];
}
