import { Duplex } from 'node:stream';

/** What a stream asks of its connection. */
export interface StreamCarrier {
  /** Calls back when the connection takes more. */
  send(stream: SpdyStream, bytes: Buffer, fin: boolean, done: (error?: Error | null) => void): void;
  /** The stream takes what has come for it, or not now. */
  flow(stream: SpdyStream, isOpen: boolean): void;
  /** The stream is over here. */
  release(stream: SpdyStream): void;
}

/** One stream of a connection; each direction ends by itself. */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly #carrier: StreamCarrier;
  #ended = false;
  #broken = false;
  #cut = false;

  constructor(id: number, carrier: StreamCarrier) {
    super({ allowHalfOpen: true });
    this.id = id;
    this.#carrier = carrier;
  }

  /** What came ends where the other side, or the connection, has broken it off, and not where it was at its end. */
  get cut(): boolean {
    return this.#cut;
  }

  /** The other side takes nothing more: it has given the stream up, or there is no connection. */
  get isBroken(): boolean {
    return this.#broken;
  }

  /** Nothing more comes. */
  get isEnded(): boolean {
    return this.#ended;
  }

  /** Takes what has come. */
  receive(bytes: Buffer, fin: boolean): void {
    if (this.#ended) return;
    if (bytes.length > 0 && !this.push(bytes)) this.#carrier.flow(this, false);
    if (fin) this.#end();
  }

  /** The other side has given the stream up, or there is no connection any more: what was read so far was all. */
  break(): void {
    this.#broken = true;
    if (this.#ended) return;
    this.#cut = true;
    this.#end();
  }

  override _read(): void {
    this.#carrier.flow(this, true);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#carrier.send(this, chunk, false, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#carrier.send(this, Buffer.alloc(0), true, done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#carrier.release(this);
    done(error);
  }

  #end(): void {
    this.#ended = true;
    this.push(null);
  }
}
