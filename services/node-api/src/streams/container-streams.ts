import { type Bus, CommandFailed } from '@kubus/bus';
import {
  type CriRequest,
  type CriResult,
  type PodRef,
  type ServiceInstance,
  type StreamEvent,
  criCommands,
  podRefOf,
  rpcErrorText,
  streamEvent,
} from '@kubus/contracts';
import { type NodePod, type Query, isRefused, parsePorts, parseStreamOptions } from '@kubus/node-requests';
import { SealKey } from '@kubus/service-kit';
import { type Ids, KubusError, type Logger, toError } from '@kubus/ports';
import type { IncomingMessage } from 'node:http';
import type { Refusal } from '../auth/authorization.ts';
import type { NodeFacts } from '../node-facts.ts';
import { type CommandOutput, runCommand } from './run-command.ts';
import { isPlain, relayUpgrade } from './stream-relay.ts';
import { type UpgradedServer, askUpgrade, proxyUpgrade } from './upgrade-proxy.ts';
import type { Upgrade } from '../server/upgrades.ts';

export type StreamKind = 'exec' | 'attach' | 'portForward';

/** The requested stream and the user who requested it. */
export interface StreamRequest {
  readonly kind: StreamKind;
  readonly namespace: string;
  readonly pod: string;
  /** Omitted when the path does not name it. */
  readonly uid?: string | undefined;
  /** Empty for the ports of a pod. */
  readonly container: string;
  readonly query: Query;
  readonly user: string;
}

/** A stream that exists, as far as the node knows. */
export interface ChosenStream {
  readonly kind: StreamKind;
  readonly ref: PodRef;
  readonly container: string;
  readonly user: string;
  /** Has the runtime prepare the stream: an address at its streaming server, which can be used once, by any client that knows it. */
  readonly prepare: () => Promise<URL>;
}

export interface ContainerStreamsOptions {
  readonly facts: NodeFacts;
  readonly bus: Bus;
  readonly ids: Ids;
  readonly logger: Logger;
  /** The time after which an idle connection is ended, in milliseconds. */
  readonly idleMs: number;
  /** How long a client may take to end its side after the end of its command, in milliseconds. */
  readonly lingerMs: number;
  /** The program that forwards the bytes of connections without TLS; omitted: this process does. */
  readonly relay?: string | undefined;
}

/**
 * Connects clients with commands and ports of containers (behaviour:http-api). Events on the bus report the begin and
 * the end of each stream.
 */
export class ContainerStreams {
  readonly #facts: NodeFacts;
  readonly #bus: Bus;
  readonly #ids: Ids;
  readonly #logger: Logger;
  readonly #idleMs: number;
  readonly #lingerMs: number;
  readonly #relay: string | undefined;
  readonly #ended = new AbortController();
  readonly #open = new Set<Promise<unknown>>();
  /** Addresses of streams are sealed for it, and commands by it. */
  readonly #key = new SealKey();

  constructor(options: ContainerStreamsOptions) {
    this.#facts = options.facts;
    this.#bus = options.bus;
    this.#ids = options.ids;
    this.#logger = options.logger;
    this.#idleMs = options.idleMs;
    this.#lingerMs = options.lingerMs;
    this.#relay = options.relay;
  }

  /** Connections that are open. */
  get count(): number {
    return this.#open.size;
  }

  /** What is requested, or why it is refused; statuses and texts are the reference's. The runtime is not asked yet. */
  choose(request: StreamRequest): ChosenStream | Refusal {
    const { kind, namespace, pod: name, uid, container, user } = request;
    const found = this.#facts.find(namespace, name, uid);
    if (found === undefined) return { status: 404, text: 'pod does not exist' };
    const prepare = this.#preparation(request, found);
    return 'status' in prepare ? prepare : { kind, ref: podRefOf(found.pod), container, user, prepare };
  }

  /** Has the runtime prepare the stream, and requests the upgrade that the client asks for from its streaming server. */
  async reach({ prepare }: ChosenStream, request: IncomingMessage): Promise<UpgradedServer | Refusal> {
    let url: URL;
    try {
      url = await prepare();
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      return { status: STATUS[error.code] ?? 500, text: error.message };
    }
    try {
      return await askUpgrade(request, url, this.#ended.signal);
    } catch (error) {
      return { status: 502, text: `the runtime’s streaming server cannot be reached: ${toError(error).message}` };
    }
  }

  /** Runs the command of an exec that has no input, and returns its output when it has ended, however long that takes. */
  run(chosen: ChosenStream): Promise<CommandOutput | Refusal> {
    const run = this.#run(chosen).finally(() => this.#open.delete(run));
    this.#open.add(run);
    return run;
  }

  /** Forwards everything between the client and the runtime, until one of them ends. Never rejects. */
  connect(chosen: ChosenStream, runtime: UpgradedServer, upgrade: Upgrade): Promise<void> {
    const stream = this.#connect(chosen, runtime, upgrade).finally(() => this.#open.delete(stream));
    this.#open.add(stream);
    return stream;
  }

  /** Ends every connection. */
  async stop(): Promise<void> {
    this.#ended.abort();
    await Promise.allSettled(this.#open);
  }

  #preparation({ kind, container, query }: StreamRequest, { pod }: NodePod): (() => Promise<URL>) | Refusal {
    const { uid } = pod.metadata;
    const reader = this.#key.publicKey;
    if (kind === 'portForward') {
      const ports = parsePorts(query);
      if (isRefused(ports)) return { status: ports.status, text: ports.message };
      const podSandboxId = this.#facts.sandbox(uid);
      if (podSandboxId === undefined) return { status: 500, text: `pod not found ("${pod.metadata.name}")` };
      const params = { podSandboxId, port: [...ports] };
      return async () => this.#urlOf(await this.#bus.call(criCommands.PortForward, uid, { params, reader }));
    }
    const options = parseStreamOptions(query);
    if (isRefused(options)) return { status: options.status, text: options.message };
    const containerId = this.#facts.newestRun(uid, container)?.id;
    if (containerId === undefined) return { status: 500, text: `container not found ("${container}")` };
    if (kind === 'attach') {
      const params = { containerId, ...options };
      return async () => this.#urlOf(await this.#bus.call(criCommands.Attach, uid, { params, reader }));
    }
    const cmd = [...(query['command'] ?? [])];
    const params = { containerId, ...options };
    // A bridge of the version before has no key.
    const request = ({ sealKey }: ServiceInstance): CriRequest<'Exec'> =>
      sealKey === undefined
        ? { params: { ...params, cmd }, reader }
        : { params, command: this.#key.seal(JSON.stringify(cmd), sealKey), reader };
    return async () => this.#urlOf(await this.#bus.call(criCommands.Exec, uid, request));
  }

  /** A bridge of the version before does not seal the address. */
  #urlOf({ result: { response, sealedUrl } }: { result: CriResult<'Exec' | 'Attach' | 'PortForward'> }): URL {
    return new URL(sealedUrl === undefined ? (response.url ?? '') : this.#key.open(sealedUrl));
  }

  async #run(chosen: ChosenStream): Promise<CommandOutput | Refusal> {
    const publish = this.#publisher(chosen);
    publish('began');
    try {
      const output = await runCommand(await chosen.prepare(), this.#ended.signal);
      publish('ended', { bytes: output.stdout.length + output.stderr.length, received: 0 });
      return output;
    } catch (error) {
      if (!(error instanceof KubusError)) throw error;
      // Its text is for the caller alone: it may contain the command.
      publish('ended', { error: `the command could not be run: ${error.code}` });
      return { status: 500, text: error instanceof CommandFailed ? rpcErrorText(error) : error.message };
    }
  }

  /** Reports one stream, whose ID it makes. */
  #publisher({ kind, ref, container, user }: ChosenStream) {
    const stream = this.#ids.hex(8);
    return (what: 'began' | 'ended', more: Partial<StreamEvent> = {}) =>
      this.#bus.emit(streamEvent, ref.uid, { ref, container, kind, what, stream, user, ...more });
  }

  async #connect(chosen: ChosenStream, runtime: UpgradedServer, upgrade: Upgrade): Promise<void> {
    const publish = this.#publisher(chosen);
    publish('began');
    try {
      const limits = { idleMs: this.#idleMs, lingerMs: this.#lingerMs, signal: this.#ended.signal };
      const { received, sent } =
        this.#relay !== undefined && isPlain(upgrade)
          ? await relayUpgrade(this.#relay, upgrade, runtime, limits)
          : await proxyUpgrade(upgrade, runtime, limits);
      publish('ended', { bytes: sent, received });
    } catch (error) {
      const err = toError(error);
      const { sent, received } = error instanceof KubusError ? error.context : {};
      const { ref, container, kind } = chosen;
      const of = { pod: `${ref.namespace}/${ref.name}`, podUid: ref.uid, container, kind };
      this.#logger.info({ ...of, err }, 'container stream failed');
      const bytes = typeof sent === 'number' && typeof received === 'number' ? { bytes: sent, received } : {};
      publish('ended', { ...bytes, error: err.message });
      upgrade.socket.destroy();
    }
  }
}

/** HTTP statuses for the runtime's errors. */
const STATUS: Readonly<Record<string, number>> = { NotFound: 404, ResourceExhausted: 429 };
