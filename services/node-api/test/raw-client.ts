import { once } from 'node:events';
import { type TLSSocket, connect } from 'node:tls';

/** A TLS connection to 127.0.0.1 without a request. Its errors are reported at its end. */
export async function rawConnection(port: number): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

/** The statuses and the text of all answers until the server ends the connection. */
export interface RawAnswer {
  readonly statuses: readonly number[];
  readonly text: string;
}

/**
 * Sends bytes unchanged, lines joined.
 *
 * @param enough the text that the client waits for before it ends its side; omitted: it does not end it
 */
export async function sendRaw(port: number, lines: readonly string[], enough?: string): Promise<RawAnswer> {
  const socket = await rawConnection(port);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (enough !== undefined && text.includes(enough)) socket.end();
  });
  const closed = once(socket, 'close');
  socket.write(Buffer.from(lines.join('\r\n'), 'latin1'));
  await closed;
  return { statuses: [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status)), text };
}
