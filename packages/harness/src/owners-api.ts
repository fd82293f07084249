import { type NodeDir, apiSocket } from '@kubus/launcher';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { HarnessError } from './errors.ts';

/** What a request has beside its path; left out: a GET without anything. */
export interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Asks the API of a node on the socket of its owner. Rejects with a HarnessError `NotAnswered` unless it answers with 200. */
export async function askNode(dir: NodeDir, path: string, how: Asking = {}): Promise<string> {
  const { method = 'GET', headers = {}, body } = how;
  const asking = request({ socketPath: apiSocket(dir), path, method, headers, agent: false }).end(body);
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  const said = await text(answer);
  if (answer.statusCode !== 200) throw new HarnessError('NotAnswered', `${path}: ${answer.statusCode ?? 0} ${said}`);
  return said;
}
