import {
  type AnyDeclaration,
  type CommandDeclaration,
  type EventDeclaration,
  type FactDeclaration,
  type ServiceContract,
  type ServiceInstance,
  type ServiceName,
  everyServiceReads,
  keyOf,
  nodeLogLevel,
  patternOf,
  refusedMessage,
  serviceInstance,
  subjectOf,
  typeOf,
} from '@kubus/contracts';
import { type Cancel, type Clock, type Ids, KubusError, type Logger, toError } from '@kubus/ports';
import { CommandClient, type CommandResult, type Hold } from './command-client.ts';
import { type CommandHandler, CommandServer, type CommandServerOptions } from './command-server.ts';
import { type Cause, checkType, decodeEnvelope } from './envelope.ts';
import { FactOwner } from './fact-owner.ts';
import { type FactHandlers, FactReader } from './fact-reader.ts';
import { Publisher, type Speaker } from './publisher.ts';
import { Refusals } from './refusals.ts';
import type { Transport } from './transport.ts';

/** A service said or heard something that its contract does not list. */
export class UndeclaredError extends KubusError {}

export interface Heard<T> {
  readonly payload: T;
  readonly key: string;
  readonly source: string;
  readonly time: string;
  readonly cause: Cause;
}

export interface BusOptions {
  readonly node: string;
  readonly service: ServiceName;
  /** `<service>-<slot>`. */
  readonly instance: string;
  /** Epoch of this life, greater than that of every earlier life of the service. */
  readonly epoch: number;
  readonly contract: ServiceContract;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Told how much the process is to log, where somebody has asked for another level than the configured one; undefined: as configured. */
  readonly onVerbosity?: ((verbosity: number | undefined) => void) | undefined;
  /** Another serving side than the usual one; the simulation takes parts out of it to see that it notices. */
  readonly server?: (options: CommandServerOptions) => CommandServer;
}

/** One instance's way to the bus: facts, commands and events, as far as its contract goes. */
export class Bus {
  readonly node: string;
  readonly instance: string;
  readonly epoch: number;
  readonly transport: Transport;
  readonly #options: BusOptions;
  readonly #speaker: Speaker;
  readonly #publisher: Publisher;
  readonly #refusals: Refusals;
  readonly #client: CommandClient;
  readonly #server: CommandServer;
  readonly #self: FactOwner<ServiceInstance>;
  readonly #peers: FactReader<ServiceInstance>;
  readonly #peerListeners: ((service: ServiceName, instance: string, epoch: number) => void)[] = [];
  readonly #unused: Set<AnyDeclaration>;
  readonly #owners: { share(): void }[] = [];
  #shared = false;

  constructor(options: BusOptions) {
    const { node, instance, epoch, transport, clock, ids, logger } = options;
    this.node = node;
    this.instance = instance;
    this.epoch = epoch;
    this.transport = transport;
    this.#options = options;
    this.#speaker = { node, instance, epoch };
    this.#publisher = new Publisher({ speaker: this.#speaker, clock, ids });
    this.#refusals = new Refusals({
      declaration: refusedMessage,
      node,
      instance,
      publisher: this.#publisher,
      transport,
      logger,
    });
    this.#client = new CommandClient({
      speaker: this.#speaker,
      service: options.service,
      transport,
      publisher: this.#publisher,
      clock,
      refusals: this.#refusals,
    });
    const server = { node, transport, publisher: this.#publisher, refusals: this.#refusals, clock, logger };
    this.#server = options.server?.(server) ?? new CommandServer(server);
    this.#unused = new Set<AnyDeclaration>([
      ...options.contract.owns,
      ...options.contract.reads,
      ...options.contract.serves,
      ...options.contract.hears,
    ]);
    this.#self = this.#owner(serviceInstance);
    // Command line programs log nothing.
    if (options.service !== 'cli') {
      this.#reader(nodeLogLevel, {
        changed: ({ value }) => options.onVerbosity?.(value.verbosity),
        removed: () => options.onVerbosity?.(undefined),
      });
    }
    this.#peers = this.#reader(serviceInstance, {
      changed: ({ key, value }) => {
        this.#client.peerAnnounced(value.service, value.epoch);
        if (value.service === options.service && key !== instance) this.#share();
        for (const listener of this.#peerListeners) listener(value.service, key, value.epoch);
      },
    });
  }

  /** Messages that did not validate since the start. */
  get refused(): number {
    return this.#refusals.count;
  }

  /** Messages published since the start. */
  get published(): number {
    return this.#publisher.count;
  }

  /** The instances that have announced themselves on this bus, this one among them. */
  get peers(): Iterable<ServiceInstance & { instance: string }> {
    return [...this.#peers].map((fact) => ({ ...fact.value, instance: fact.key }));
  }

  /**
   * To be called when everything is wired: fails when the contract lists something that the code does not do, then tells
   * the others that this instance serves.
   */
  announce(self: Omit<ServiceInstance, 'service' | 'epoch'>): void {
    if (this.#unused.size > 0) {
      const types = [...this.#unused].map((declaration) => typeOf(declaration)).join(', ');
      throw new UndeclaredError(
        'unused-declaration',
        `the contract lists what ${this.instance} does not use: ${types}`,
      );
    }
    this.#self.put(this.instance, { ...self, service: this.#options.service, epoch: this.epoch });
  }

  /** Calls `listener` for each instance that announces itself, again after each of its restarts. */
  onPeer(listener: (service: ServiceName, instance: string, epoch: number) => void): void {
    this.#peerListeners.push(listener);
    for (const { key, value } of this.#peers) listener(value.service, key, value.epoch);
  }

  owner<T>(declaration: FactDeclaration<T>): FactOwner<T> {
    this.#use(declaration, this.#options.contract.owns);
    const owner = this.#owner(declaration);
    this.#owners.push(owner);
    if (this.#shared) owner.share();
    return owner;
  }

  reader<T>(declaration: FactDeclaration<T>, handlers: FactHandlers<T> = {}): FactReader<T> {
    this.#use(declaration, [...this.#options.contract.reads, ...everyServiceReads]);
    return this.#reader(declaration, handlers);
  }

  serve<Request, Result>(
    declaration: CommandDeclaration<Request, Result>,
    handler: CommandHandler<Request, Result>,
  ): void {
    this.#use(declaration, this.#options.contract.serves);
    this.#server.serve(declaration, handler);
  }

  /** See {@link CommandServer.fence}. */
  fence(pod: string, source: string, hold: number, term?: number): Promise<void> {
    return this.#server.fence(pod, source, hold, term);
  }

  call<Request, Result>(
    declaration: CommandDeclaration<Request, Result>,
    key: string,
    request: Request,
    options: { causes?: readonly Cause[] | undefined; hold?: Hold | undefined } = {},
  ): Promise<CommandResult<Result>> {
    this.#use(declaration, this.#options.contract.calls);
    return this.#client.call(declaration, key, request, options);
  }

  /** See {@link CommandClient.hold}. */
  hold(pod: string, number: number): Hold {
    return this.#client.hold(pod, number);
  }

  /** See {@link CommandClient.release}. */
  release(hold: Hold): void {
    this.#client.release(hold);
  }

  emit<T>(
    declaration: EventDeclaration<T>,
    key: string,
    payload: T,
    options: { pod?: string | undefined; causes?: readonly Cause[] | undefined } = {},
  ): Cause {
    this.#use(declaration, this.#options.contract.publishes);
    const { headers, cause } = this.#publisher.stamp(declaration, {
      ...options,
      pod: options.pod ?? (declaration.key === 'pod' ? key : undefined),
    });
    this.transport.publish({ subject: subjectOf(this.node, declaration, key), headers, data: JSON.stringify(payload) });
    return cause;
  }

  hear<T>(declaration: EventDeclaration<T>, listener: (heard: Heard<T>) => void): Cancel {
    this.#use(declaration, this.#options.contract.hears);
    const type = typeOf(declaration);
    return this.transport.subscribe(patternOf(this.node, declaration), (message) => {
      try {
        const envelope = decodeEnvelope(message.headers, this.#options.clock.now());
        checkType(envelope, type);
        const payload = declaration.payload.parse(JSON.parse(message.data));
        const key = keyOf(message.subject);
        listener({ payload, key, source: envelope.source, time: envelope.time, cause: envelope.cause });
      } catch (error) {
        this.#refusals.refuse(message, toError(error));
      }
    });
  }

  /** Another instance of this service has announced itself. */
  #share(): void {
    if (this.#shared) return;
    this.#shared = true;
    for (const owner of this.#owners) owner.share();
  }

  #owner<T>(declaration: FactDeclaration<T>): FactOwner<T> {
    const { transport, clock, logger } = this.#options;
    return new FactOwner({ declaration, speaker: this.#speaker, publisher: this.#publisher, transport, clock, logger });
  }

  #reader<T>(declaration: FactDeclaration<T>, handlers: FactHandlers<T>): FactReader<T> {
    const { transport, clock } = this.#options;
    return new FactReader({ declaration, node: this.node, transport, clock, handlers, refusals: this.#refusals });
  }

  #use(declaration: unknown, allowed: readonly AnyDeclaration[]): void {
    const listed = allowed.find((one) => one === declaration);
    if (listed === undefined) {
      const type = typeOf(declaration as AnyDeclaration);
      throw new UndeclaredError(
        'undeclared',
        `${this.#options.service} uses ${type}, which its contract does not list`,
      );
    }
    this.#unused.delete(listed);
  }
}
