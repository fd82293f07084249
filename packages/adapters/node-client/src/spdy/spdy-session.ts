import { KubusError, toError } from '@kubus/ports';
import type { Duplex } from 'node:stream';
import { FIN, FRAME, FrameReader, controlFrame, dataHead, rstStream, synStream } from './frames.ts';
import { HeaderBlocks } from './header-blocks.ts';
import { SpdyStream, type StreamCarrier } from './spdy-stream.ts';

/** Maximum size of a data frame in bytes. */
const LONGEST_DATA = 64 * 1024;

/**
 * A connection over which the client opens any number of streams. The servers of container runtimes have no flow control per
 * stream: a stream that is not read blocks the whole connection.
 */
export class SpdySession {
  readonly #socket: Duplex;
  readonly #frames = new FrameReader();
  readonly #headers = new HeaderBlocks();
  readonly #streams = new Map<number, SpdyStream>();
  /** Streams that accept no more data now. */
  readonly #full = new Set<SpdyStream>();
  readonly #carrier: StreamCarrier = {
    send: (stream, bytes, fin, done) => this.#send(stream, bytes, fin, done),
    flow: (stream, isOpen) => this.#flow(stream, isOpen),
    release: (stream) => this.#release(stream),
  };
  /** Resolves when the connection is closed. Never rejects. */
  readonly closed: Promise<void>;
  #next = 1;

  /**
   * @param socket after the upgrade
   * @param head data that was already received over it
   */
  constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket;
    // The end of the stream carries the same information.
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('end', () => socket.destroy());
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        for (const stream of this.#streams.values()) stream.break();
        this.#streams.clear();
        resolve();
      });
    });
    if (head.length > 0) this.#receive(head);
  }

  /**
   * Opens a stream. It is ready at once; a refusal of the server is received over it.
   *
   * @param headers names in lower case
   *
   * Throws a KubusError `closed` when the connection is closed.
   */
  open(headers: Readonly<Record<string, string>>): SpdyStream {
    if (this.#socket.destroyed) throw new KubusError('closed', 'the connection is closed');
    const stream = new SpdyStream(this.#next, this.#carrier);
    // Those of clients are odd (draft 3.1, section 2.3.2).
    this.#next += 2;
    this.#streams.set(stream.id, stream);
    this.#socket.write(synStream(stream.id, this.#headers.encode(headers)));
    return stream;
  }

  /** Ends the connection with all its streams. */
  async close(): Promise<void> {
    this.#socket.destroy();
    await this.closed;
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#frames.read(chunk)) {
        if (frame.kind === 'data') this.#streams.get(frame.stream)?.receive(frame.bytes, frame.fin);
        else this.#control(frame.type, frame.flags, frame.payload);
      }
    } catch (error) {
      this.#socket.destroy(toError(error));
    }
  }

  #control(type: number, flags: number, payload: Buffer): void {
    if (payload.length < 4) return;
    const id = payload.readUInt32BE(0);
    const stream = this.#streams.get(id);
    if (type === FRAME.rstStream) {
      this.#streams.delete(id);
      stream?.break();
    } else if (type === FRAME.synReply && (flags & FIN) !== 0) {
      stream?.receive(Buffer.alloc(0), true);
    } else if (type === FRAME.ping && id % 2 === 0) {
      this.#socket.write(controlFrame(FRAME.ping, 0, payload));
    }
    // Other frames need no action: the connection's end follows a GOAWAY.
  }

  #send({ id, isBroken }: SpdyStream, bytes: Buffer, fin: boolean, done: (error?: Error | null) => void): void {
    // Data for a closed connection is not sent; the writer is notified by the stream's end.
    if (isBroken || this.#socket.destroyed) {
      done();
      return;
    }
    const parts: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += LONGEST_DATA) {
      const part = bytes.subarray(at, at + LONGEST_DATA);
      parts.push(dataHead(id, part.length, 0), part);
    }
    if (fin) parts.push(dataHead(id, 0, FIN));
    this.#socket.write(Buffer.concat(parts), (error) => {
      // The stream learns of the connection's end by reading.
      done(this.#socket.destroyed ? null : error);
    });
  }

  #flow(stream: SpdyStream, isOpen: boolean): void {
    if (isOpen) this.#full.delete(stream);
    else this.#full.add(stream);
    if (this.#full.size > 0) this.#socket.pause();
    else if (this.#socket.isPaused()) this.#socket.resume();
  }

  #release(stream: SpdyStream): void {
    this.#full.delete(stream);
    if (this.#streams.delete(stream.id) && !stream.writableFinished && !this.#socket.destroyed) {
      this.#socket.write(stream.isEnded ? dataHead(stream.id, 0, FIN) : rstStream(stream.id));
    }
    if (this.#full.size === 0 && this.#socket.isPaused()) this.#socket.resume();
  }
}
