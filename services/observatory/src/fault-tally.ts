import { HEADER, type StoredMessage } from '@kubus/bus';
import { payloadOf as parsedPayload } from '@kubus/causality';
import { type ActiveFault, type EventDeclaration, faulted, serviceFaulted, typeOf } from '@kubus/contracts';
import type { FaultDocument, PauseDocument } from '@kubus/contracts/observatory';

type Acted = Pick<FaultDocument, 'since' | 'acted' | 'actedAt'>;

/**
 * Counts how often each rule has acted and which processes are paused, from the messages about faults.
 *
 * @param recorded the messages of one type that have been recorded since a time
 */
export class FaultTally {
  readonly #recorded: (type: string, from: number) => Iterable<StoredMessage>;
  readonly #acted = new Map<string, Acted>();
  readonly #pauses = new Map<string, PauseDocument>();

  constructor(recorded: (type: string, from: number) => Iterable<StoredMessage>) {
    this.#recorded = recorded;
    for (const stored of recorded(typeOf(serviceFaulted), 0)) this.#takeServiceFault(stored);
  }

  /** The rule is in force; call this again each time the rule is published again. */
  holds({ rule: { id }, since }: Pick<ActiveFault, 'rule' | 'since'>): void {
    if (this.#acted.get(id)?.since === since) return;
    // Another rule may have had this name before, and this rule may have acted before counting began.
    this.#acted.set(id, { since, acted: 0 });
    for (const stored of this.#recorded(typeOf(faulted), since)) this.#count(stored, id);
  }

  /** The messages that are recorded at this moment. */
  take(messages: readonly StoredMessage[]): void {
    for (const stored of messages) {
      const type = stored.message.headers[HEADER.type];
      if (type === typeOf(faulted)) this.#count(stored);
      if (type === typeOf(serviceFaulted)) this.#takeServiceFault(stored);
    }
  }

  of(id: string): Omit<Acted, 'since'> {
    const { acted = 0, actedAt } = this.#acted.get(id) ?? {};
    return { acted, ...(actedAt !== undefined && { actedAt }) };
  }

  /** The paused processes, the first one first. A process whose launcher was killed continues without a further message. */
  pauses(now: number): PauseDocument[] {
    return [...this.#pauses.values()].filter(({ ends }) => ends > now).sort((a, b) => a.since - b.since);
  }

  /** @param only the rule to count for; undefined: the rule that each message names. */
  #count(stored: StoredMessage, only?: string): void {
    const rule = payloadOf(faulted, stored)?.rule;
    if (rule === undefined || (only !== undefined && rule !== only)) return;
    const known = this.#acted.get(rule);
    if (known === undefined || stored.stored < known.since) return;
    this.#acted.set(rule, { ...known, acted: known.acted + 1, actedAt: stored.stored });
  }

  #takeServiceFault(stored: StoredMessage): void {
    const fault = payloadOf(serviceFaulted, stored);
    const instance = stored.message.subject.split('.').at(-1);
    if (fault === undefined || instance === undefined) return;
    // A process that is asked to end while it is paused ends when it continues.
    if (fault.what === 'continue' || fault.what === 'kill') this.#pauses.delete(instance);
    if (fault.what !== 'pause' || fault.forMs === undefined) return;
    this.#pauses.set(instance, { instance, since: stored.stored, ends: stored.stored + fault.forMs });
  }
}

/** Undefined when it does not match the declared schema. */
function payloadOf<T>({ payload }: EventDeclaration<T>, { message }: StoredMessage): T | undefined {
  return payload.safeParse(parsedPayload(message)).data;
}
