import type { Bus } from '@kubus/bus';
import type { ServiceName } from '@kubus/contracts';
import type { Clock, Ids, Logger } from '@kubus/ports';
import type { Outside, Shapes } from './outside.ts';

/** What every core is given. */
export interface CorePorts {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

/**
 * The part of a service that depends on its ports alone: given the same inputs through them in the same order, it does the
 * same. It can be journaled and replayed.
 */
export interface Core<Inputs, Ports extends Outside, Running> {
  readonly service: ServiceName;
  /** The ports that it has besides bus, clock and ids. */
  readonly outside: Shapes<Ports>;
  /** @param inputs what is known at its start: plain values, also in a Map or as big numbers. */
  start(ports: CorePorts, inputs: Inputs, outside: Ports): Promise<Running>;
  /** What the rest of the service asks of it later, by name; `stop` is one of them. */
  call(running: Running, name: string, argument: unknown): unknown;
}

/** A core that runs. */
export interface RunningCore<Running> {
  readonly running: Running;
  /** See {@link Core.call}. Resolves when that is done. */
  call(name: string, argument?: unknown): Promise<unknown>;
}

/** Starts a core on its ports as they are, without a journal. */
export async function runCore<Inputs, Ports extends Outside, Running>(
  core: Core<Inputs, Ports, Running>,
  ports: CorePorts,
  inputs: Inputs,
  outside: Ports,
): Promise<RunningCore<Running>> {
  const running = await core.start(ports, inputs, outside);
  return { running, call: (name, argument) => new Promise((done) => done(core.call(running, name, argument))) };
}
