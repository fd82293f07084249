import { type Socket, createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type Socket as Connection, createServer } from 'node:net';
import type { Zone } from '@kubus/cluster-dns';
import { toError } from '@kubus/ports';
import { type Transport, forward } from './forward.ts';
import { DNS_PORT, framed, takeFrame } from './frames.ts';
import { aliasRecords, answerOf, questionOf, rcodes, readQuery, refusal } from './message.ts';

/** Questions that wait for the machine's resolvers, of all clients and of one. */
const WAITING = 256;
const WAITING_OF_ONE = 64;
/** Open TCP connections of all clients and of one, and how long one may be idle, in milliseconds. */
const CONNECTIONS = 64;
const CONNECTIONS_OF_ONE = 16;
const IDLE_MS = 10_000;
/** The largest question, in bytes. */
const LARGEST = 4_096;

/** What a {@link DnsServer} needs. */
interface DnsServerOptions {
  /** The names of the node, as they are now. */
  readonly zone: () => Zone;
  /** The addresses of the resolvers for all other names. What it throws counts as none. */
  readonly resolvers: () => Promise<readonly string[]>;
  /** The port of these resolvers. Default: 53. */
  readonly resolverPort?: number;
  /** An error that no client can cause; the server goes on. */
  readonly onError: (error: Error) => void;
}

/**
 * Answers names of the node, over UDP and TCP, and passes every other question on as it came. What one client may cost is bounded: a question beyond
 * that is answered with SERVFAIL.
 */
export class DnsServer {
  readonly #options: DnsServerOptions;
  readonly #waiting = new Map<string, number>();
  readonly #udp: Socket;
  readonly #tcp = createServer((connection) => this.#serve(connection));
  readonly #connections = new Set<Connection>();
  #own = '';
  #isClosed = false;

  constructor(options: DnsServerOptions) {
    this.#options = options;
    this.#udp = createSocket('udp4');
    this.#tcp.maxConnections = CONNECTIONS;
  }

  /** Listens until {@link close}. Throws when the address or the port cannot be had; the server is then closed. Returns the port. */
  async listen(address: string, port: number = DNS_PORT): Promise<number> {
    try {
      this.#tcp.listen(port, address);
      await once(this.#tcp, 'listening');
      const bound = this.#tcp.address();
      const chosen = typeof bound === 'object' && bound !== null ? bound.port : port;
      this.#udp.bind(chosen, address);
      await once(this.#udp, 'listening');
      this.#own = address;
      this.#tcp.on('error', this.#options.onError);
      this.#udp.on('error', this.#options.onError);
      this.#udp.on('message', (message, { address: client, port: from }) => {
        void this.#answerUdp(message, client, from);
      });
      return chosen;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Ends it; questions that wait get no answer. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#udp.close();
    this.#tcp.close();
    for (const connection of this.#connections) connection.destroy();
  }

  async #answerUdp(message: Buffer, client: string, port: number): Promise<void> {
    const answer = await this.#answer(message, 'udp', client);
    try {
      // A client that has gone is no error of the server.
      if (answer !== undefined) this.#udp.send(answer, port, client, () => undefined);
    } catch (error) {
      // It was closed meanwhile, or the client's port is none.
      if (!this.#isClosed) this.#options.onError(toError(error));
    }
  }

  #serve(connection: Connection): void {
    const { remoteAddress } = connection;
    const same = [...this.#connections].filter((one) => one.remoteAddress === remoteAddress);
    if (same.length >= CONNECTIONS_OF_ONE) return void connection.destroy();
    this.#connections.add(connection);
    connection.setTimeout(IDLE_MS, () => connection.destroy());
    connection.on('error', () => connection.destroy());
    connection.on('close', () => this.#connections.delete(connection));
    // Its errors end the connection.
    void this.#answerTcp(connection).catch(() => connection.destroy());
  }

  /** One question of a connection after the other: a client that does not read its answers is not read from. */
  async #answerTcp(connection: Connection): Promise<void> {
    const client = connection.remoteAddress ?? '';
    let received: Buffer = Buffer.alloc(0);
    for await (const part of connection) {
      received = Buffer.concat([received, part as Buffer]);
      for (let next = takeFrame(received); next !== undefined; next = takeFrame(received)) {
        received = next.rest;
        const answer = await this.#answer(next.frame, 'tcp', client);
        if (answer === undefined) return void connection.destroy();
        if (!connection.write(framed(answer))) await once(connection, 'drain');
      }
      if (received.length >= 2 && received.readUInt16BE(0) > LARGEST) return void connection.destroy();
    }
  }

  /** The answer to a message; undefined: it gets none. */
  async #answer(message: Buffer, transport: Transport, client: string): Promise<Buffer | undefined> {
    try {
      const read = readQuery(message);
      if (read === undefined) return undefined;
      if (message.length > LARGEST) return refusal(message, rcodes.formErr);
      if ('code' in read) return refusal(message, read.code);
      const { query } = read;
      const own = answerOf(this.#options.zone(), query, transport === 'udp');
      if (own === undefined) {
        return (await this.#forward(message, transport, client)) ?? refusal(message, rcodes.servFail);
      }
      if ('bytes' in own) return own.bytes;
      const rest = await this.#forward(questionOf(query, own.alias), transport, client);
      return own.finish(rest === undefined ? { code: rcodes.servFail, more: [] } : aliasRecords(rest));
    } catch (error) {
      this.#options.onError(toError(error));
      return refusal(message, rcodes.servFail);
    }
  }

  /** Undefined without an answer, and when too many questions wait. */
  async #forward(message: Buffer, transport: Transport, client: string): Promise<Buffer | undefined> {
    const before = this.#waiting.get(client) ?? 0;
    const all = [...this.#waiting.values()].reduce((sum, count) => sum + count, 0);
    if (before >= WAITING_OF_ONE || all >= WAITING) return undefined;
    this.#waiting.set(client, before + 1);
    try {
      const { resolvers, resolverPort } = this.#options;
      const others = (await resolvers().catch(() => [])).filter((address) => address !== this.#own);
      return await forward(message, transport, others, resolverPort);
    } finally {
      const after = (this.#waiting.get(client) ?? 1) - 1;
      if (after === 0) this.#waiting.delete(client);
      else this.#waiting.set(client, after);
    }
  }
}
