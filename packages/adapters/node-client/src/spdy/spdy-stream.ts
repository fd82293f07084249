import { Duplex } from 'node:stream';

/** The operations of a connection that a stream uses. */
export interface StreamCarrier {
  /** Calls back when the connection accepts more data. */
  send(stream: SpdyStream, bytes: Buffer, fin: boolean, done: (error?: Error | null) => void): void;
  /** Whether the stream currently accepts received data. */
  flow(stream: SpdyStream, isOpen: boolean): void;
  /** The stream has ended on this side. */
  release(stream: SpdyStream): void;
}

/** One stream of a connection; each direction ends separately. */
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

  /** The received data was cut off by the other side or the connection, instead of ending regularly. */
  get cut(): boolean {
    return this.#cut;
  }

  /** The other side accepts no more data: it has reset the stream, or the connection is closed. */
  get isBroken(): boolean {
    return this.#broken;
  }

  /** Nothing more comes. */
  get isEnded(): boolean {
    return this.#ended;
  }

  /** Accepts received data. */
  receive(bytes: Buffer, fin: boolean): void {
    if (this.#ended) return;
    if (bytes.length > 0 && !this.push(bytes)) this.#carrier.flow(this, false);
    if (fin) this.#end();
  }

  /** The other side has reset the stream, or the connection is closed: no more data follows. */
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
