import { type StoredMessage, type WireMessage, parseTime } from '@kubus/bus';
import {
  type AnyDeclaration,
  type ServiceContract,
  bareType,
  carriedCauses,
  possibleRoots,
  serviceInstance,
  typeOf,
} from '@kubus/contracts';
import { serviceOf } from './brief.ts';
import { MessageIndex } from './message-index.ts';
import { type RecordedMessage, recordedMessage } from './recorded-message.ts';
import { payloadOf, textAt } from './summary.ts';

export interface CausalFinding {
  /**
   * `lost-cause`: a cause is not in the recording. `early-effect`: an effect was published, or its cause received, before
   * the cause
   * was published. `wrong-times`: a message was published before its cause was received. `undeclared-edge`: by its contract
   * the publisher does not receive the cause that it names. `undeclared-root`: no cause, although messages of its type
   * must have one.
   */
  readonly kind: 'lost-cause' | 'early-effect' | 'wrong-times' | 'undeclared-edge' | 'undeclared-root';
  /** The id of the message with the violation, and of the cause that it names. */
  readonly message: string;
  readonly cause?: string;
  /** Description for users. */
  readonly text: string;
}

/** The largest clock difference between processes of a machine, in milliseconds. */
const CLOCKS_MS = 1;

type Contracts = Readonly<Record<string, ServiceContract>>;

interface Known {
  readonly at: number;
  readonly type: string;
  readonly source: string;
}

/** Effects whose cause has not been read yet. */
interface Effect extends Known {
  readonly id: string;
  /** When its first cause was received, milliseconds since the Unix epoch. */
  readonly received: number | undefined;
  readonly cause: string;
  readonly isFirst: boolean;
}

/**
 * The violations of causality in a recording; empty when there are none. `messages` of a recording from
 * the first one of a node on, in any order: missing causes are reported at the end.
 */
export function* checkCausality(messages: Iterable<StoredMessage>, contracts: Contracts): Generator<CausalFinding> {
  const known = new MessageIndex<Known>();
  const received = new Received(contracts);
  let waiting: Effect[] = [];
  for (const { message } of messages) {
    const recorded = recordedMessage(message);
    // A message that is stored again is known already.
    if (recorded === undefined || known.get(recorded.envelope.cause.id) !== undefined) continue;
    const { envelope, at } = recorded;
    known.set(envelope.cause.id, { at, type: envelope.type, source: envelope.source });
    yield* ofItself(recorded);
    for (const effect of effectsOf(recorded)) {
      const cause = known.get(effect.cause);
      if (cause === undefined) waiting.push(effect);
      else yield* ofPair(cause, effect, received);
    }
    // The broker may store messages of two services in another order than they were published, but not much later.
    if (waiting.length > 10_000) waiting = yield* settle(waiting, known, received);
  }
  for (const effect of yield* settle(waiting, known, received)) {
    const { id, type, cause } = effect;
    yield { kind: 'lost-cause', message: id, cause, text: `${id} (${type}) names ${cause}, which is not recorded` };
  }
}

/** Checks those whose cause has been read by now; returns the others. */
function* settle(
  waiting: readonly Effect[],
  known: MessageIndex<Known>,
  received: Received,
): Generator<CausalFinding, Effect[]> {
  const left: Effect[] = [];
  for (const effect of waiting) {
    const cause = known.get(effect.cause);
    if (cause === undefined) left.push(effect);
    else yield* ofPair(cause, effect, received);
  }
  return left;
}

function effectsOf({ envelope, at }: RecordedMessage): Effect[] {
  const { type, source, received, cause } = envelope;
  const known = { id: cause.id, at, type, source, received: received === undefined ? undefined : parseTime(received) };
  return envelope.causes.map((id, index) => ({ ...known, cause: id, isFirst: index === 0 }));
}

function* ofItself({ message, envelope, at }: RecordedMessage): Generator<CausalFinding> {
  const { cause, type, causes, received } = envelope;
  const about = { message: cause.id };
  if (received !== undefined && parseTime(received) > at) {
    const text = `${cause.id} (${type}) was published at ${envelope.time}, before its cause was received at ${received}`;
    yield { ...about, kind: 'wrong-times', text };
  }
  if (causes.length === 0 && !mayBeRoot(type, message)) {
    const text = `${cause.id} (${type}) names no cause, and nothing outside of the bus leads to such a message`;
    yield { ...about, kind: 'undeclared-root', text };
  }
}

function* ofPair(cause: Known, effect: Effect, received: Received): Generator<CausalFinding> {
  const about = { message: effect.id, cause: effect.cause };
  const between = `${effect.id} (${effect.type}) names ${effect.cause} (${cause.type})`;
  const own = cause.source === effect.source;
  const seen = effect.isFirst && !own ? Math.min(effect.at, effect.received ?? effect.at) : effect.at;
  if (cause.at - seen > CLOCKS_MS) {
    const text = `${between}, which was published ${(cause.at - seen).toFixed(3)} ms after it had been received`;
    yield { ...about, kind: 'early-effect', text };
  }
  if (!own && !received.by(serviceOf(effect.source), cause.type)) {
    const text = `${between}, which by its contract ${serviceOf(effect.source)} does not receive`;
    yield { ...about, kind: 'undeclared-edge', text };
  }
}

/** Completion marks are about a complete set: a service publishes one after it has read all of it. */
const completion = /^[^.]+\.fact\.([^.]+)\.complete$/;

function mayBeRoot(type: string, message: WireMessage): boolean {
  const ofType = roots.get(bareType(type)) ?? [];
  if (completion.test(bareType(type)) || ofType.some(({ where }) => where === undefined)) return true;
  const payload = ofType.length === 0 ? undefined : payloadOf(message);
  return ofType.some(({ where = {} }) =>
    Object.entries(where).every(([name, value]) => textAt(payload, name) === value),
  );
}

const roots = Map.groupBy(possibleRoots, ({ type }) => bare(type));

/** Which types of messages reach a service, by the contracts. */
class Received {
  readonly #types = new Map<string, ReadonlySet<string>>();

  constructor(contracts: Contracts) {
    for (const [service, { reads, hears, serves, calls }] of Object.entries(contracts)) {
      const types = [...reads, ...hears, ...serves].map(bare);
      const replies = calls.map((command) => bare(command).replace('.cmd.', '.reply.'));
      const marks = reads.map((fact) => `${bare(fact)}.complete`);
      const carried = carriedCauses.filter(({ to }) => to === service).map(({ type }) => bare(type));
      this.#types.set(service, new Set([...types, ...replies, ...marks, ...carried, ...everybodys]));
    }
  }

  by(service: string, type: string): boolean {
    return this.#types.get(service)?.has(bareType(type)) ?? false;
  }
}

/** Every service reads the announcements of the others. */
const everybodys = [bare(serviceInstance), `${bare(serviceInstance)}.complete`];

function bare(declaration: AnyDeclaration): string {
  return bareType(typeOf(declaration));
}
