import {
  COMPLETE,
  ROOT,
  type ServiceName,
  callerOf,
  encodeToken,
  factPattern,
  keyOf,
  serviceInstance,
  serviceOfInstance,
  sharedServices,
  subjectMatches,
} from '@kubus/contracts';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import { HEADER } from '../envelope.ts';
import { completionSchema } from '../fact-reader.ts';
import { valueOf, withPayload } from '../payload.ts';
import type { FactListener, FactMessage, Transport, WireMessage } from '../transport.ts';
import { DirectTransport } from './direct-transport.ts';
import { Routes, type RoutesOptions, topicOf } from './routes.ts';

/**
 * How long a message that only the record and its followers need from the broker waits for others, in milliseconds. A crash of the process
 * loses so much of the record, and nothing else: the services that know of these messages end with it.
 */
const COPY_MS = 5;

export interface DirectDeliveryOptions extends RoutesOptions {
  /** That of each instance in this process. */
  readonly slot: number;
  readonly clock: Pick<Clock, 'after'>;
  readonly logger: Logger;
  /** Services of this process that run elsewhere at first, see {@link DirectDelivery.setElsewhere}. Default: none. */
  readonly elsewhere?: Iterable<ServiceName> | undefined;
  /** Runs `step` soon, in a turn of its own. */
  readonly soon: (step: () => void) => void;
}

/** @internal One listener of a service in this process. */
export interface Listening {
  readonly member: DirectTransport;
  readonly pattern: string;
  readonly listener: (message: WireMessage) => void;
  isDirect: boolean;
  /** Of a watch, the connection in which it was opened, and with which it ends; a subscription lasts. */
  readonly openedIn: number | undefined;
  /** Ends its subscriptions at the broker. */
  endBroker: Cancel;
  ended: boolean;
}

/** @internal */
export interface Delivery {
  readonly to: Listening;
  readonly message: WireMessage;
  /** The receiver's connection when the message was sent: like any message, it arrives on that one or not at all. */
  readonly connection: number;
}

/**
 * Delivers messages between the services of this process: as values, in the order in which they were sent, each in a later turn than its
 * publisher's. What the broker, the record and services of other processes get is the same message, as text. The bus above it does not
 * differ: numbers, causes, versions and marks are those of the messages.
 *
 * A service takes part as long as this process has its only instance. When that changes, all members lose their connection for a moment, as
 * after any loss of messages: owners publish again, readers read again, and commands are sent again, now the other way. An instance that no
 * longer shares the pods may still run and wait for answers: its commands are heard, and the first one has its service use the broker again
 * until the launcher publishes the next share.
 */
export class DirectDelivery {
  readonly #options: DirectDeliveryOptions;
  readonly #routes: Routes;
  readonly #members = new Map<ServiceName, DirectTransport>();
  readonly #elsewhere: Set<ServiceName>;
  /** The services whose instances share the pods and of which this process has the only one. */
  readonly #alone = new Set<ServiceName>();
  /** Instances in other processes that have ever announced themselves; most have ended. */
  readonly #others = new Set<string>();
  readonly #listening = new Map<string, Set<Listening>>();
  /** By topic and subject: the last values of facts that members own, and marks of removed ones. */
  readonly #facts = new Map<string, Map<string, WireMessage>>();
  /** By instance of this process that has stored a fact: its epoch. */
  readonly #epochs = new Map<string, string | undefined>();
  #queue: Delivery[] = [];
  #copies: (() => void)[] = [];
  #copying: Cancel | undefined;

  constructor(options: DirectDeliveryOptions) {
    this.#options = options;
    this.#elsewhere = new Set(options.elsewhere);
    this.#routes = new Routes(
      options,
      options.services.filter((service) => this.#isOnlyHere(service)),
    );
  }

  /** The transport of the only instance of `service` in this process, on its own connection to the broker. */
  join(service: ServiceName, broker: Transport): DirectTransport {
    const member = new DirectTransport({ delivery: this, service, instance: this.#instance(service), broker });
    this.#members.set(service, member);
    return member;
  }

  /** These instances share the pods from now on: a service with others than that of this process is reached through the broker. */
  shared(service: ServiceName, instances: readonly string[]): void {
    const isAlone = instances.length > 0 && instances.every((instance) => instance === this.#instance(service));
    if (isAlone) this.#alone.add(service);
    else this.#alone.delete(service);
    this.#update(service);
  }

  /**
   * A service of this process runs in another one for a while, and is reached through the broker; or it comes back. To be called while this
   * process does not run it.
   */
  setElsewhere(service: ServiceName, isElsewhere: boolean): void {
    if (isElsewhere) this.#elsewhere.add(service);
    else this.#elsewhere.delete(service);
    this.#update(service);
  }

  /** Whether messages of `service` are delivered directly. */
  isDirect(service: ServiceName): boolean {
    return this.#routes.has(service);
  }

  /** Publishes what has not been published yet. */
  #flush(): void {
    this.#copying?.();
    this.#copying = undefined;
    for (const copy of this.#copies.splice(0)) copy();
  }

  /** @internal */
  publish(member: DirectTransport, message: WireMessage): void {
    const { broker } = member;
    this.#copy(member, message.subject, () => broker.publish(message));
    this.#deliver(member, message);
  }

  /** @internal */
  store(member: DirectTransport, key: string, fact: FactMessage): Promise<void> {
    const message = withPayload({ subject: this.subjectOf(key), headers: fact.headers }, fact);
    this.#keep(message);
    this.#epochs.set(member.instance, message.headers[HEADER.epoch]);
    return new Promise((resolve, reject) => {
      this.#copy(member, message.subject, () => void member.broker.storeFact(key, fact).then(resolve, reject));
      this.#deliver(member, message);
    });
  }

  /** @internal */
  subscribe(member: DirectTransport, pattern: string, listener: (message: WireMessage) => void): Cancel {
    const listening = this.#listen(member, pattern, listener, undefined);
    this.#subscribeAgain(listening);
    return () => this.#end(listening);
  }

  /**
   * @internal What members own now, what the broker has stored of instances in other processes, then changes. What an earlier life of this
   * process has left in the broker is not read, on whichever way: messages that others depended on may be missing there. Its owners publish
   * all of it again.
   */
  watch(member: DirectTransport, pattern: string, listener: FactListener): Cancel {
    if (!this.#routes.isDirectFact(member.service, pattern)) return this.#watchBroker(member, pattern, listener);
    const full = this.subjectOf(pattern);
    const listening = this.#listen(member, full, (message) => listener.message(message), member.connection);
    listening.isDirect = true;
    listening.endBroker = member.broker.watchFacts(pattern, {
      message: (message) => {
        const source = message.headers[HEADER.source];
        if (!listening.ended && !this.#isOwn(source)) listener.message(message);
      },
      present: () => {
        listening.endBroker();
        if (listening.ended) return;
        for (const message of this.#facts.get(topicOf(full))?.values() ?? []) listener.message(message);
        listener.present();
      },
    });
    return () => this.#end(listening);
  }

  /**
   * All facts are read from the broker, but for what an earlier life of this process has left there. It may have left an announcement in place
   * of a present one, which it overtook.
   */
  #watchBroker(member: DirectTransport, pattern: string, listener: FactListener): Cancel {
    const announces = pattern === factPattern(serviceInstance);
    return member.broker.watchFacts(pattern, {
      message: (message) => {
        if (announces) this.#meet(keyOf(message.subject));
        const isLeft = this.#isOfEarlierLife(member, message);
        const present =
          isLeft && announces ? this.#facts.get(topicOf(message.subject))?.get(message.subject) : undefined;
        if (present !== undefined || !isLeft) listener.message(present ?? message);
      },
      present: () => listener.present(),
    });
  }

  /** Whether another instance of this process stored the fact before this process started. An owner compares its own with the stored ones. */
  #isOfEarlierLife(reader: DirectTransport, { headers }: WireMessage): boolean {
    const source = headers[HEADER.source];
    if (source === undefined || source === reader.instance || !this.#isOwn(source)) return false;
    return this.#epochs.get(source) !== headers[HEADER.epoch];
  }

  /** The service has ended: what it has published is sent, and it receives nothing more. */
  leave(service: ServiceName): void {
    this.#flush();
    const member = this.#members.get(service);
    if (member === undefined) return;
    this.#members.delete(service);
    for (const one of [...this.#listening.values()].flatMap((all) => [...all])) {
      if (one.member === member) this.#end(one);
    }
    for (const facts of this.#facts.values()) {
      for (const [subject, { headers }] of facts) if (headers[HEADER.source] === member.instance) facts.delete(subject);
    }
  }

  /** @internal */
  subjectOf(key: string): string {
    return `${ROOT}.${encodeToken(this.#options.node)}.${key}`;
  }

  /** How many instances share the pods is known only when the launcher has published it. */
  #isOnlyHere(service: ServiceName): boolean {
    const shared: readonly ServiceName[] = sharedServices;
    return !this.#elsewhere.has(service) && (!shared.includes(service) || this.#alone.has(service));
  }

  /** An instance has announced itself: from now on its commands to members are heard, also while its service is direct. */
  #meet(instance: string): void {
    const shared: readonly string[] = sharedServices;
    if (!shared.includes(serviceOfInstance(instance)) || this.#isOwn(instance) || this.#others.has(instance)) return;
    this.#others.add(instance);
    for (const one of [...this.#listening.values()].flatMap((all) => [...all])) {
      if (one.isDirect && one.openedIn === undefined) this.#subscribeAgain(one);
    }
  }

  /** A message came through the broker. */
  #heard({ subject }: WireMessage): void {
    const caller = callerOf(subject);
    if (caller === undefined || this.#isOwn(caller.instance) || !this.#alone.delete(caller.service)) return;
    this.#options.logger.info({ instance: caller.instance }, 'an instance that shares no pods still sends commands');
    this.#update(caller.service);
  }

  #update(service: ServiceName): void {
    if (this.#routes.set(service, this.#isOnlyHere(service))) this.#reconnect();
  }

  #instance(service: ServiceName): string {
    return `${service}-${this.#options.slot}`;
  }

  /** Whether this process runs the instance. */
  #isOwn(source: string | undefined): boolean {
    return this.#options.services.some(
      (service) => this.#instance(service) === source && !this.#elsewhere.has(service),
    );
  }

  /** A later turn delivers the message to the listeners that exist now. */
  #deliver(member: DirectTransport, message: WireMessage): void {
    if (!this.#routes.has(member.service)) return;
    for (const to of this.#listening.get(topicOf(message.subject)) ?? []) {
      const { connection } = to.member;
      if (!to.isDirect || (to.openedIn ?? connection) !== connection) continue;
      if (subjectMatches(to.pattern, message.subject)) this.#enqueue({ to, message, connection });
    }
  }

  /** @internal What has been sent and not been delivered, in order. */
  protected take(): Delivery[] {
    const queue = this.#queue;
    this.#queue = [];
    return queue;
  }

  #enqueue(delivery: Delivery): void {
    if (this.#queue.push(delivery) === 1) this.#options.soon(() => this.#drain());
  }

  #drain(): void {
    for (const { to, message, connection } of this.take()) {
      if (to.ended || !to.member.connected || connection !== to.member.connection) continue;
      try {
        to.listener(message);
      } catch (error) {
        this.#options.logger.error({ subject: message.subject, err: toError(error) }, 'a message was not handled');
      }
    }
  }

  /** Messages that other services wait for are published at once, after all earlier ones; others in batches. */
  #copy(member: DirectTransport, subject: string, send: () => void): void {
    if (!this.#routes.isOnlyRecorded(member.service, subject)) {
      this.#flush();
      send();
      return;
    }
    this.#copies.push(() => {
      try {
        send();
      } catch (error) {
        this.#options.logger.error({ subject, err: toError(error) }, 'a message could not be published');
      }
    });
    this.#copying ??= this.#options.clock.after(COPY_MS, () => this.#flush());
  }

  /** Of one owner as long as its last completion mark lists them: what it does not is in the broker's store, and removed or of another. */
  #keep(message: WireMessage): void {
    const { subject, headers } = message;
    const topic = topicOf(subject);
    const facts = this.#facts.get(topic) ?? new Map<string, WireMessage>();
    this.#facts.set(topic, facts.set(subject, message));
    if (!subject.startsWith(`${topic}.${COMPLETE}.`)) return;
    const keys = new Set(valueOf(completionSchema, message).keys.map((key) => this.subjectOf(key)));
    for (const [other, { headers: of }] of facts) {
      if (other !== subject && of[HEADER.source] === headers[HEADER.source] && !keys.has(other)) facts.delete(other);
    }
  }

  #listen(
    member: DirectTransport,
    pattern: string,
    listener: (message: WireMessage) => void,
    openedIn: number | undefined,
  ): Listening {
    const endBroker = () => undefined;
    const listening: Listening = { member, pattern, listener, openedIn, isDirect: false, endBroker, ended: false };
    const topic = topicOf(pattern);
    const present = this.#listening.get(topic);
    if (present === undefined) this.#listening.set(topic, new Set([listening]));
    else present.add(listening);
    return listening;
  }

  #subscribeAgain(listening: Listening): void {
    const { member, pattern, listener } = listening;
    listening.endBroker();
    const { direct, broker } = this.#routes.ofSubscription(member.service, pattern, this.#others);
    listening.isDirect = direct;
    const hear = (message: WireMessage) => {
      this.#heard(message);
      listener(message);
    };
    const ends = broker.map((one) => member.broker.subscribe(one, hear));
    listening.endBroker = () => {
      for (const end of ends) end();
    };
  }

  #end(listening: Listening): void {
    listening.ended = true;
    listening.endBroker();
    this.#listening.get(topicOf(listening.pattern))?.delete(listening);
  }

  #reconnect(): void {
    this.#flush();
    const members = [...this.#members.values()];
    for (const member of members) member.suspend();
    this.#options.soon(() => {
      for (const all of this.#listening.values()) {
        for (const one of [...all]) if (one.openedIn === undefined) this.#subscribeAgain(one);
      }
      for (const member of members) member.resume();
    });
  }
}
