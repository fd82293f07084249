import { HEADER } from '@kubus/bus';
import { type StoredMessage, payloadOf as parsedPayload } from '@kubus/causality';
import { type ActiveFault, type EventDeclaration, faulted, serviceFaulted, typeOf } from '@kubus/contracts';
import type { FaultDocument, PauseDocument } from '@kubus/observatory-api';

type Acted = Pick<FaultDocument, 'since' | 'acted' | 'actedAt'>;

/**
 * How often each rule has acted and which processes stand still, from what the node tells of its faults.
 *
 * @param told what has been recorded of one type, published since then.
 */
export class FaultTally {
  readonly #told: (type: string, from: number) => Iterable<StoredMessage>;
  readonly #acted = new Map<string, Acted>();
  readonly #pauses = new Map<string, PauseDocument>();

  constructor(told: (type: string, from: number) => Iterable<StoredMessage>) {
    this.#told = told;
    for (const stored of told(typeOf(serviceFaulted), 0)) this.#takeDeed(stored);
  }

  /** The rule holds; to be called again as often as it is told again. */
  holds({ rule: { id }, since }: Pick<ActiveFault, 'rule' | 'since'>): void {
    if (this.#acted.get(id)?.since === since) return;
    // Another rule may have had the name, and this one may have acted before anybody counted.
    this.#acted.set(id, { since, acted: 0 });
    for (const stored of this.#told(typeOf(faulted), since)) this.#count(stored, id);
  }

  /** What has been recorded now. */
  take(messages: readonly StoredMessage[]): void {
    for (const stored of messages) {
      const type = stored.message.headers[HEADER.type];
      if (type === typeOf(faulted)) this.#count(stored);
      if (type === typeOf(serviceFaulted)) this.#takeDeed(stored);
    }
  }

  of(id: string): Omit<Acted, 'since'> {
    const { acted = 0, actedAt } = this.#acted.get(id) ?? {};
    return { acted, ...(actedAt !== undefined && { actedAt }) };
  }

  /** The processes that stand still, the first one first. One whose launcher was killed goes on without another word. */
  pauses(now: number): PauseDocument[] {
    return [...this.#pauses.values()].filter(({ ends }) => ends > now).sort((a, b) => a.since - b.since);
  }

  /** @param only the rule that it counts for; undefined: whichever it names. */
  #count(stored: StoredMessage, only?: string): void {
    const rule = payloadOf(faulted, stored)?.rule;
    if (rule === undefined || (only !== undefined && rule !== only)) return;
    const known = this.#acted.get(rule);
    if (known === undefined || stored.stored < known.since) return;
    this.#acted.set(rule, { ...known, acted: known.acted + 1, actedAt: stored.stored });
  }

  #takeDeed(stored: StoredMessage): void {
    const deed = payloadOf(serviceFaulted, stored);
    const instance = stored.message.subject.split('.').at(-1);
    if (deed === undefined || instance === undefined) return;
    // One that is asked to end while it stands still ends when it goes on.
    if (deed.what === 'continue' || deed.what === 'kill') this.#pauses.delete(instance);
    if (deed.what !== 'pause' || deed.forMs === undefined) return;
    this.#pauses.set(instance, { instance, since: stored.stored, ends: stored.stored + deed.forMs });
  }
}

/** Undefined when it is not what was declared. */
function payloadOf<T>({ payload }: EventDeclaration<T>, { message }: StoredMessage): T | undefined {
  return payload.safeParse(parsedPayload(message)).data;
}
