import { type NodeDir, apiSocket } from '@kubus/launcher';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { HarnessError } from './errors.ts';

/** Method, headers and body of a request. Default: a GET without a body. */
export interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * Sends a request to the node's API on the socket of its owner, and returns the body of the answer.
 *
 * @throws HarnessError `NotAnswered` unless the status is 200.
 */
export async function askNode(dir: NodeDir, path: string, how: Asking = {}): Promise<string> {
  const { method = 'GET', headers = {}, body } = how;
  const asking = request({ socketPath: apiSocket(dir), path, method, headers, agent: false }).end(body);
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  const said = await text(answer);
  if (answer.statusCode !== 200) throw new HarnessError('NotAnswered', `${path}: ${answer.statusCode ?? 0} ${said}`);
  return said;
}
