import { type TestNode, kubusProgram, nodeEnvironment, startCommand } from '@kubus/harness';

/** Starts `kubus observatory` for a file or the node, and returns a client of its API. */
export async function openObservatory(node: TestNode, ...args: string[]) {
  const env = nodeEnvironment(node.folder);
  const command = startCommand(process.execPath, [kubusProgram, 'observatory', '--port', '0', ...args], env);
  const [, base = '', token = ''] = await command.waitForOutput(/^(http:\/\/127\.0\.0\.1:\d+)\/#token=(\S{43})$/m);
  const headers = { authorization: `Bearer ${token}` };
  const ask = async <T>(path: string) => (await (await fetch(`${base}/api/v1${path}`, { headers })).json()) as T;
  return { base, headers, ask, end: () => command.end() };
}
