import { type NodeDir, apiSocket } from '@kubus/launcher';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { HarnessError } from './errors.ts';

/** Asks the API of a node on the socket of its owner. Rejects with a HarnessError `NotAnswered` unless it answers with 200. */
export async function askNode(dir: NodeDir, path: string, headers: Record<string, string> = {}): Promise<string> {
  const asking = request({ socketPath: apiSocket(dir), path, headers, agent: false }).end();
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  const body = await text(answer);
  if (answer.statusCode !== 200) throw new HarnessError('NotAnswered', `${path}: ${answer.statusCode ?? 0} ${body}`);
  return body;
}
