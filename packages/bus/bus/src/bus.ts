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
  serviceOfInstance,
  subjectOf,
  typeOf,
} from '@kubus/contracts';
import { type Cancel, type Clock, type Ids, KubusError, type Logger, toError } from '@kubus/ports';
import { CommandClient, type CommandResult, type FencingToken, type RequestFor } from './command-client.ts';
import { type CommandHandler, CommandServer, type CommandServerOptions, type ServeOptions } from './command-server.ts';
import { type Cause, checkNotRepeated, checkType, decodeEnvelope } from './envelope.ts';
import { FactOwner } from './fact-owner.ts';
import { type FactHandlers, FactReader } from './fact-reader.ts';
import { payloadOf, valueOf, withPayload } from './payload.ts';
import { Publisher, type PublisherId } from './publisher.ts';
import { Refusals } from './refusals.ts';
import type { Transport } from './transport.ts';

/** Thrown when a service publishes or subscribes to a message that its contract does not list. */
export class UndeclaredError extends KubusError {}

export interface Received<T> {
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
  /** Epoch of this start, greater than that of every earlier start of the service. */
  readonly epoch: number;
  readonly contract: ServiceContract;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Called with the log level where it was changed from the configured one; undefined: as configured. */
  readonly onVerbosity?: ((verbosity: number | undefined) => void) | undefined;
  /** Default: {@link CommandServer}. The simulation disables parts of it to check that it detects their absence. */
  readonly server?: (options: CommandServerOptions) => CommandServer;
}

/** One instance's access to the bus: facts, commands and events, as far as its contract allows. */
export class Bus {
  readonly node: string;
  readonly instance: string;
  readonly epoch: number;
  readonly transport: Transport;
  readonly #options: BusOptions;
  readonly #publisherId: PublisherId;
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
    this.#publisherId = { node, instance, epoch };
    this.#publisher = new Publisher({ publisherId: this.#publisherId, clock, ids });
    this.#refusals = new Refusals({
      declaration: refusedMessage,
      node,
      instance,
      publisher: this.#publisher,
      transport,
      logger,
      clock,
    });
    this.#client = new CommandClient({
      publisherId: this.#publisherId,
      service: options.service,
      transport,
      publisher: this.#publisher,
      clock,
      refusals: this.#refusals,
    });
    const server = { node, epoch, transport, publisher: this.#publisher, refusals: this.#refusals, clock, logger };
    this.#server = options.server?.(server) ?? new CommandServer(server);
    this.#unused = new Set<AnyDeclaration>([
      ...options.contract.owns,
      ...options.contract.reads.filter(({ isSuperseded }) => isSuperseded !== true),
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
        // An identity can write only its own key: it announces no other service.
        if (serviceOfInstance(key) !== value.service) return;
        this.#client.peerAnnounced(value);
        if (value.service === options.service && key !== instance) this.#share();
        for (const listener of this.#peerListeners) listener(value.service, key, value.epoch);
      },
    });
  }

  /** Messages that have been refused as invalid since the start. */
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
   * To be called when all handlers are registered: fails when the contract lists something that the code does not use, then
   * announces that this instance is ready.
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

  /** Calls `listener` for each instance that announces itself, and again after each of its restarts. */
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
    options?: ServeOptions<Request>,
  ): void {
    this.#use(declaration, this.#options.contract.serves);
    this.#server.serve(declaration, handler, options);
  }

  /** See {@link CommandServer.fence}. */
  fence(pod: string, source: string, token: number, term?: number): Promise<void> {
    return this.#server.fence(pod, source, token, term);
  }

  call<Request, Result>(
    declaration: CommandDeclaration<Request, Result>,
    key: string,
    request: RequestFor<Request>,
    options: { causes?: readonly Cause[] | undefined; fencingToken?: FencingToken | undefined } = {},
  ): Promise<CommandResult<Result>> {
    this.#use(declaration, this.#options.contract.calls);
    return this.#client.call(declaration, key, request, options);
  }

  /** See {@link CommandClient.fencingToken}. */
  fencingToken(pod: string, number: number): FencingToken {
    return this.#client.fencingToken(pod, number);
  }

  /** See {@link CommandClient.release}. */
  release(fencingToken: FencingToken): void {
    this.#client.release(fencingToken);
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
    const subject = subjectOf(this.node, declaration, key);
    this.transport.publish(withPayload({ subject, headers }, payloadOf(this.transport, payload)));
    return cause;
  }

  subscribe<T>(declaration: EventDeclaration<T>, listener: (message: Received<T>) => void): Cancel {
    this.#use(declaration, this.#options.contract.hears);
    const type = typeOf(declaration);
    return this.transport.subscribe(patternOf(this.node, declaration), (message) => {
      try {
        checkNotRepeated(message);
        const envelope = decodeEnvelope(message.headers, this.#options.clock.now());
        checkType(envelope, type);
        const payload = valueOf(declaration.payload, message);
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
    return new FactOwner({
      declaration,
      publisherId: this.#publisherId,
      publisher: this.#publisher,
      transport,
      clock,
      logger,
    });
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
