import { once } from 'node:events';
import { type TLSSocket, connect } from 'node:tls';

/** A secured connection to 127.0.0.1 on which nothing has been said. Its errors come with its end. */
export async function rawConnection(port: number): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

/** The statuses and the text of everything that is answered until the connection ends, which the server does. */
export interface RawAnswer {
  readonly statuses: readonly number[];
  readonly text: string;
}

/**
 * Sends bytes as they are, lines joined.
 *
 * @param enough what of the answer the client waits for before it ends its side; left out, it does not end it
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
