import { once } from 'node:events';
import { WebSocket } from 'ws';

/** The channels of a command, in the protocols `v4.channel.k8s.io` and `v5.channel.k8s.io` (KEP-4006). */
export const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

/** The largest payload of a message, in bytes. */
const PIECE = 64 * 1024;

/** A WebSocket whose messages begin with the number of a channel: the protocol of containers' streams. */
export class ChannelSocket {
  readonly #socket: WebSocket;
  readonly #received = new Map<number, Buffer[]>();

  /**
   * Rejects with an error that names the HTTP status when the server refuses.
   *
   * @param api the node's own socket
   */
  static async open(api: string, path: string, protocols: readonly string[]): Promise<ChannelSocket> {
    const socket = new WebSocket(`ws+unix:${api}:${path}`, [...protocols], { perMessageDeflate: false });
    const channel = new ChannelSocket(socket);
    await once(socket, 'open');
    return channel;
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    // A waiting caller gets the error.
    socket.on('error', () => undefined);
    socket.on('message', (message: Buffer) => {
      const [channel = -1] = message;
      const before = this.#received.get(channel) ?? [];
      before.push(message.subarray(1));
      this.#received.set(channel, before);
    });
  }

  /** The protocol that the server has chosen. */
  get protocol(): string {
    return this.#socket.protocol;
  }

  /** Everything received on a channel so far. */
  received(channel: number): Buffer {
    return Buffer.concat(this.#received.get(channel) ?? []);
  }

  /** Sends everything, as fast as the server reads. */
  async send(channel: number, bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; at += PIECE) {
      const message = Buffer.concat([Buffer.of(channel), bytes.subarray(at, at + PIECE)]);
      await new Promise<void>((resolve, reject) => {
        this.#socket.send(message, (error) => (error ? reject(error) : resolve()));
      });
    }
  }

  /** Resolves when `is` holds; checks after each message. Rejects when the server ends the connection before. */
  until(is: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        this.#socket.off('message', look).off('close', look);
        settle();
      };
      const look = () => {
        if (is()) end(resolve);
        else if (this.#socket.readyState === WebSocket.CLOSED)
          end(() => reject(new Error('the server ended too early')));
      };
      this.#socket.on('message', look).on('close', look);
      look();
    });
  }

  /** Resolves when the server has ended the connection. */
  async ended(): Promise<void> {
    if (this.#socket.readyState !== WebSocket.CLOSED) await once(this.#socket, 'close');
  }

  /** Ends the connection at once. Idempotent. */
  destroy(): void {
    this.#socket.terminate();
  }
}
