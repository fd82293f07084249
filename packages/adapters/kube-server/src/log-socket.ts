import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { badRequest } from '@kubus/kube-objects';
import { type WebSocket, WebSocketServer } from 'ws';
import type { UpgradedConnection } from './pod-stream.ts';
import type { RequestInfo } from './request-info.ts';

/** Of a WebSocket that carries one stream to its client: bytes as they are, or in base64. Source: k8s.io/streaming, wsstream. */
const BASE64 = 'base64.binary.k8s.io';
const PROTOCOLS = ['binary.k8s.io', BASE64];

/** What a client sends is ignored; more than this at once ends the connection. In bytes. */
const MAX_RECEIVED = 4096;

const sockets = new WebSocketServer({
  ...{ noServer: true, clientTracking: false, maxPayload: MAX_RECEIVED, perMessageDeflate: false },
  handleProtocols: (offered) => [...offered].find((protocol) => PROTOCOLS.includes(protocol)) ?? false,
});

/** Whether a request to upgrade the connection is for the log of a pod. */
export function isPodLog({ method, plural, group, subresource }: RequestInfo): boolean {
  return method === 'GET' && group === '' && plural === 'pods' && subresource === 'log';
}

/**
 * Sends a pod's log as messages of a WebSocket, an empty one first, until it ends or the client closes. Source:
 * k8s.io/apiserver/pkg/endpoints/handlers/responsewriters, StreamObject.
 *
 * @param log the response of the node.
 * @throws StatusError 400 for another protocol.
 */
export function sendLog(log: IncomingMessage, { request, socket, head }: UpgradedConnection): void {
  const { 'sec-websocket-protocol': offered = '', upgrade = '' } = request.headers;
  const protocols = offered.split(',').map((protocol) => protocol.trim());
  if (upgrade.toLowerCase() !== 'websocket') throw badRequest('a log is read by WebSocket, or without an upgrade');
  if (offered !== '' && !protocols.some((protocol) => PROTOCOLS.includes(protocol))) {
    throw badRequest(
      `requested protocol(s) are not supported: [${protocols.join(' ')}]; supports [${PROTOCOLS.join(' ')}]`,
    );
  }
  sockets.handleUpgrade(request, socket, head, (client) => void copy(log, client));
}

/** Never rejects: what the client has when it or the node closes is all that it gets. */
async function copy(log: IncomingMessage, client: WebSocket): Promise<void> {
  client.on('error', () => client.terminate()).once('close', () => log.destroy());
  const send = promisify((data: Buffer | string, sent: (error?: Error | null) => void) => client.send(data, sent));
  const shown = (bytes: Buffer) => (client.protocol === BASE64 ? bytes.toString('base64') : bytes);
  try {
    await send(shown(Buffer.alloc(0)));
    for await (const bytes of log) await send(shown(bytes as Buffer));
  } catch {
    // One of the two has closed.
  }
  client.close();
}
