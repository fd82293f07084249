import { type WireMessage, parseTime } from '@kubus/bus';
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
import type { StoredMessage } from './stored-message.ts';
import { payloadOf, textAt } from './summary.ts';

export interface CausalFinding {
  /**
   * `lost-cause`: a cause is not in the recording. `early-effect`: an effect says that it was made, or its cause heard, before
   * that was published. `wrong-times`: a message was published before its cause was heard. `undeclared-edge`: by its contract
   * the publisher does not receive what it names as a cause. `undeclared-root`: no cause, and none of its type may be without.
   */
  readonly kind: 'lost-cause' | 'early-effect' | 'wrong-times' | 'undeclared-edge' | 'undeclared-root';
  /** The id of the message that something is wrong with, and of the cause that it names. */
  readonly message: string;
  readonly cause?: string;
  /** For people: what is wrong. */
  readonly text: string;
}

/** Processes of a machine agree on the time of day as well as this, in milliseconds. */
const CLOCKS_MS = 1;

type Contracts = Readonly<Record<string, ServiceContract>>;

interface Known {
  readonly at: number;
  readonly type: string;
  readonly source: string;
}

/** What is still to be compared with a cause that has not been seen. */
interface Effect extends Known {
  readonly id: string;
  /** When its first cause had been heard. */
  readonly heard: number | undefined;
  readonly cause: string;
  readonly isFirst: boolean;
}

/**
 * What is wrong with the causes that messages name; nothing when all is as it has to be. `messages` of a recording from a
 * node's first one on, in any order: what has no cause in it by the end is found last.
 */
export function* checkCausality(messages: Iterable<StoredMessage>, contracts: Contracts): Generator<CausalFinding> {
  const known = new MessageIndex<Known>();
  const received = new Received(contracts);
  let waiting: Effect[] = [];
  for (const { message } of messages) {
    const recorded = recordedMessage(message);
    // What was stored again says nothing new.
    if (recorded === undefined || known.get(recorded.envelope.cause.id) !== undefined) continue;
    const { envelope, at } = recorded;
    known.set(envelope.cause.id, { at, type: envelope.type, source: envelope.source });
    yield* ofItself(recorded);
    for (const effect of effectsOf(recorded)) {
      const cause = known.get(effect.cause);
      if (cause === undefined) waiting.push(effect);
      else yield* ofPair(cause, effect, received);
    }
    // The broker may store two services' messages in another order than they went out; not much later, though.
    if (waiting.length > 10_000) waiting = yield* settle(waiting, known, received);
  }
  for (const effect of yield* settle(waiting, known, received)) {
    const { id, type, cause } = effect;
    yield { kind: 'lost-cause', message: id, cause, text: `${id} (${type}) names ${cause}, which is not recorded` };
  }
}

/** Looks at those whose cause is there by now; gives back the others. */
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
  const { type, source, heard, cause } = envelope;
  const told = { id: cause.id, at, type, source, heard: heard === undefined ? undefined : parseTime(heard) };
  return envelope.causes.map((id, index) => ({ ...told, cause: id, isFirst: index === 0 }));
}

function* ofItself({ message, envelope, at }: RecordedMessage): Generator<CausalFinding> {
  const { cause, type, causes, heard } = envelope;
  const told = { message: cause.id };
  if (heard !== undefined && parseTime(heard) > at) {
    const text = `${cause.id} (${type}) was published at ${envelope.time}, before its cause was heard at ${heard}`;
    yield { ...told, kind: 'wrong-times', text };
  }
  if (causes.length === 0 && !mayBeRoot(type, message)) {
    const text = `${cause.id} (${type}) names no cause, and nothing outside of the bus leads to such a message`;
    yield { ...told, kind: 'undeclared-root', text };
  }
}

function* ofPair(cause: Known, effect: Effect, received: Received): Generator<CausalFinding> {
  const told = { message: effect.id, cause: effect.cause };
  const between = `${effect.id} (${effect.type}) names ${effect.cause} (${cause.type})`;
  const own = cause.source === effect.source;
  const seen = effect.isFirst && !own ? Math.min(effect.at, effect.heard ?? effect.at) : effect.at;
  if (cause.at - seen > CLOCKS_MS) {
    const text = `${between}, which was published ${(cause.at - seen).toFixed(3)} ms after it had been heard`;
    yield { ...told, kind: 'early-effect', text };
  }
  if (!own && !received.by(serviceOf(effect.source), cause.type)) {
    const text = `${between}, which by its contract ${serviceOf(effect.source)} does not receive`;
    yield { ...told, kind: 'undeclared-edge', text };
  }
}

/** Completion marks tell of a set as a whole: whoever has read all that belongs to it publishes one. */
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
