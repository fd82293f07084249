import type { Bus } from '@kubus/bus';
import type { ServiceName } from '@kubus/contracts';
import { type Clock, type Ids, KubusError, type Logger } from '@kubus/ports';
import type { Outside, Shapes } from './outside.ts';

/** The ports that every core has. */
export interface CorePorts {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

/** The calls that the rest of a service makes to its core while that runs: own functions of one plain value or none. */
export type Calls<Names> = { readonly [Name in keyof Names]: (argument: never) => unknown };

/** The only call of most cores. */
export interface StopCall {
  stop(): Promise<void>;
}

/**
 * The part of a service that depends only on its ports: with the same inputs through them in the same order, it does the
 * same. It can be journaled and replayed.
 */
export interface Core<Inputs, Ports extends Outside, Running, CoreCalls extends Calls<CoreCalls> = StopCall> {
  readonly service: ServiceName;
  /** Its ports besides bus, clock and ids. */
  readonly outside: Shapes<Ports>;
  /** @param inputs what is known at its start: plain values, including Maps and bigints */
  start(ports: CorePorts, inputs: Inputs, outside: Ports): Promise<Running>;
  /** Calls of the rest of the service; `stop` is one of them. */
  calls(running: Running): CoreCalls;
}

/** A running core. */
export interface RunningCore<Running, CoreCalls extends Calls<CoreCalls> = StopCall> {
  readonly running: Running;
  /** See {@link Core.calls}. Each resolves when the call is complete. */
  readonly calls: {
    readonly [Name in keyof CoreCalls]: (
      ...argument: Parameters<CoreCalls[Name]>
    ) => Promise<Awaited<ReturnType<CoreCalls[Name]>>>;
  };
}

/** The calls of a running core, each of which `make` makes. */
export function callsThrough<CoreCalls extends Calls<CoreCalls>>(
  calls: CoreCalls,
  make: (name: string, argument: unknown) => Promise<unknown>,
): RunningCore<unknown, CoreCalls>['calls'] {
  const made = Object.keys(calls).map((name) => [name, (argument?: unknown) => make(name, argument)]);
  return Object.fromEntries(made) as RunningCore<unknown, CoreCalls>['calls'];
}

/**
 * Makes a call by its name, such as one in a journal.
 *
 * @throws KubusError `unknown-call` when the core has no such call; the journal may be of another version.
 */
export function callByName(calls: object, name: string, argument: unknown): unknown {
  const call = Object.entries(calls).find(([own]) => own === name)?.[1] as ((argument: unknown) => unknown) | undefined;
  if (call === undefined) throw new KubusError('unknown-call', `the core has no call "${name}"`);
  return call(argument);
}

/** Starts a core on its real ports, without a journal. */
export async function runCore<Inputs, Ports extends Outside, Running, CoreCalls extends Calls<CoreCalls>>(
  core: Core<Inputs, Ports, Running, CoreCalls>,
  ports: CorePorts,
  inputs: Inputs,
  outside: Ports,
): Promise<RunningCore<Running, CoreCalls>> {
  const running = await core.start(ports, inputs, outside);
  const calls = core.calls(running);
  const make = (name: string, argument: unknown) =>
    new Promise<unknown>((done) => done(callByName(calls, name, argument)));
  return { running, calls: callsThrough(calls, make) };
}
