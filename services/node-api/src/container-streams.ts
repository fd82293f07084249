import { type Bus, CommandFailed } from '@kubus/bus';
import { type PodRef, type StreamEvent, criCommands, podRefOf, streamEvent } from '@kubus/contracts';
import { type NodePod, type Query, isRefused, parsePorts, parseStreamOptions } from '@kubus/node-pods';
import { type Ids, KubusError, type Logger, toError } from '@kubus/ports';
import type { IncomingMessage } from 'node:http';
import type { Refusal } from './authorization.ts';
import type { NodeFacts } from './node-facts.ts';
import { isPlain, relayUpgrade } from './stream-relay.ts';
import { type UpgradedServer, askUpgrade, proxyUpgrade } from './upgrade-proxy.ts';
import type { Upgrade } from './upgrades.ts';

export type StreamKind = 'exec' | 'attach' | 'portForward';

/** What is asked for, and by whom. */
export interface StreamRequest {
  readonly kind: StreamKind;
  readonly namespace: string;
  readonly pod: string;
  /** Left out where the path does not name it. */
  readonly uid?: string | undefined;
  /** Empty for the ports of a pod. */
  readonly container: string;
  readonly query: Query;
  readonly user: string;
}

/** A stream that the runtime has made ready. */
export interface ChosenStream {
  readonly kind: StreamKind;
  readonly ref: PodRef;
  readonly container: string;
  readonly user: string;
  /** Of the runtime's streaming server; whoever knows it may use it once. */
  readonly url: URL;
}

export interface ContainerStreamsOptions {
  readonly facts: NodeFacts;
  readonly bus: Bus;
  readonly ids: Ids;
  readonly logger: Logger;
  /** After which a silent connection is ended. */
  readonly idleMs: number;
  /** The program that passes the bytes of connections without TLS; left out, this process does. */
  readonly relay?: string | undefined;
}

/** Connects clients with commands and ports of containers (kubelet behaviour 5). The bus hears of begin and end. */
export class ContainerStreams {
  readonly #facts: NodeFacts;
  readonly #bus: Bus;
  readonly #ids: Ids;
  readonly #logger: Logger;
  readonly #idleMs: number;
  readonly #relay: string | undefined;
  readonly #ended = new AbortController();
  readonly #open = new Set<Promise<void>>();

  constructor(options: ContainerStreamsOptions) {
    this.#facts = options.facts;
    this.#bus = options.bus;
    this.#ids = options.ids;
    this.#logger = options.logger;
    this.#idleMs = options.idleMs;
    this.#relay = options.relay;
  }

  /** Connections that are open now. */
  get count(): number {
    return this.#open.size;
  }

  /** Has the runtime make ready what is asked for, or says why that can not be; statuses and texts are the reference's. */
  async choose(request: StreamRequest): Promise<ChosenStream | Refusal> {
    const { kind, namespace, pod: name, uid, container, user } = request;
    const found = this.#facts.find(namespace, name, uid);
    if (found === undefined) return { status: 404, text: 'pod does not exist' };
    try {
      const url = await this.#url(request, found);
      return 'status' in url ? url : { kind, ref: podRefOf(found.pod), container, user, url };
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      return { status: STATUS[error.code] ?? 500, text: error.message };
    }
  }

  /** Has the runtime's streaming server agree to the upgrade that a client asks for. */
  async reach({ url }: ChosenStream, request: IncomingMessage): Promise<UpgradedServer | Refusal> {
    try {
      return await askUpgrade(request, url, this.#ended.signal);
    } catch (error) {
      return { status: 502, text: `the runtime’s streaming server can not be reached: ${toError(error).message}` };
    }
  }

  /** Passes everything between the client and the runtime, until one of them has had enough. Never rejects. */
  connect(chosen: ChosenStream, runtime: UpgradedServer, upgrade: Upgrade): Promise<void> {
    const stream = this.#connect(chosen, runtime, upgrade).finally(() => this.#open.delete(stream));
    this.#open.add(stream);
    return stream;
  }

  /** Ends every connection. */
  async stop(): Promise<void> {
    this.#ended.abort();
    await Promise.all(this.#open);
  }

  async #url({ kind, container, query }: StreamRequest, { pod }: NodePod): Promise<URL | Refusal> {
    const { uid } = pod.metadata;
    if (kind === 'portForward') {
      const ports = parsePorts(query);
      if (isRefused(ports)) return { status: ports.status, text: ports.message };
      const podSandboxId = this.#facts.sandbox(uid);
      if (podSandboxId === undefined) return { status: 500, text: `pod not found ("${pod.metadata.name}")` };
      const { result } = await this.#bus.call(criCommands.PortForward, uid, {
        params: { podSandboxId, port: [...ports] },
      });
      return new URL(result.response.url ?? '');
    }
    const options = parseStreamOptions(query);
    if (isRefused(options)) return { status: options.status, text: options.message };
    const containerId = this.#facts.newestRun(uid, container)?.id;
    if (containerId === undefined) return { status: 500, text: `container not found ("${container}")` };
    const { result } =
      kind === 'exec'
        ? await this.#bus.call(criCommands.Exec, uid, {
            params: { containerId, cmd: [...(query['command'] ?? [])], ...options },
          })
        : await this.#bus.call(criCommands.Attach, uid, { params: { containerId, ...options } });
    return new URL(result.response.url ?? '');
  }

  async #connect(
    { kind, ref, container, user }: ChosenStream,
    runtime: UpgradedServer,
    upgrade: Upgrade,
  ): Promise<void> {
    const stream = this.#ids.hex(8);
    const tell = (what: 'began' | 'ended', more: Partial<StreamEvent> = {}) =>
      this.#bus.emit(streamEvent, ref.uid, { ref, container, kind, what, stream, user, ...more });
    tell('began');
    try {
      const limits = { idleMs: this.#idleMs, signal: this.#ended.signal };
      const { received, sent } =
        this.#relay !== undefined && isPlain(upgrade)
          ? await relayUpgrade(this.#relay, upgrade, runtime, limits)
          : await proxyUpgrade(upgrade, runtime, limits);
      tell('ended', { bytes: sent, received });
    } catch (error) {
      const err = toError(error);
      const { sent, received } = error instanceof KubusError ? error.context : {};
      const of = { pod: `${ref.namespace}/${ref.name}`, podUid: ref.uid, container, kind };
      this.#logger.info({ ...of, err }, 'a connection to a container broke off');
      const bytes = typeof sent === 'number' && typeof received === 'number' ? { bytes: sent, received } : {};
      tell('ended', { ...bytes, error: err.message });
      upgrade.socket.destroy();
    }
  }
}

/** HTTP's statuses for what the runtime answers. */
const STATUS: Readonly<Record<string, number>> = { NotFound: 404, ResourceExhausted: 429 };
