import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };

/** A `Status` as the API server sends it. */
export const refusal = (code: number, reason: string, headers?: Record<string, string>): Answer =>
  json(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: `no: ${reason}`, reason, code }, headers);

/** Breaks the connection instead of answering. */
export const reset: Answer = (request) => void request.socket.resetAndDestroy();

/** An HTTP server that returns scripted responses in order; it is not a model of an API server. */
export class ScriptedServer {
  readonly seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
  readonly sockets = new Set<Socket>();
  readonly #answers: Answer[] = [];
  readonly #server: Server;

  constructor(server: Server = createServer()) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.#take(request, response));
  }

  async listen(): Promise<number> {
    if (!this.#server.listening) {
      await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    }
    return (this.#server.address() as AddressInfo).port;
  }

  answer(...answers: Answer[]): void {
    this.#answers.push(...answers);
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const answer = this.#answers.shift() ?? refusal(500, 'nothing laid out');
    let body = '';
    request.setEncoding('utf8');
    for await (const chunk of request) body += String(chunk);
    this.seen.push({ method, url, headers, body });
    answer(request, response, body);
  }
}
