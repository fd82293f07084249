import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestNode, checkout } from '@kubus/harness';

/**
 * Keeps what is needed to find out why a test on a node failed: every message as JSON lines as the test has received it, and as
 * the node has recorded it (the test is without NATS for a while when that is killed), the logs of all processes, containerd's event log,
 * the present state. Returns the folder; replaces that of an earlier failure.
 */
export async function recordFailure(node: TestNode, name: string, account: string): Promise<string> {
  const folder = join(checkout, '.kubus/failures', name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const lines = node.watch.messages.all.map(({ at, message }) => {
    return JSON.stringify({ at: new Date(at).toISOString(), ...message });
  });
  await writeFile(join(folder, 'messages.jsonl'), `${lines.join('\n')}\n`);
  const recorded = await node.watch.record().catch(() => []);
  await writeFile(join(folder, 'recorded.jsonl'), recorded.map((one) => `${JSON.stringify(one)}\n`).join(''));
  await writeFile(join(folder, 'account.txt'), `${account}\n\n${node.watch.describe()}\n`);
  await cp(node.dir.logs, join(folder, 'logs'), { recursive: true });
  return folder;
}
