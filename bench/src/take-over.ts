import { takeSlot } from '@kubus/harness';
import type { BenchNode } from './bench-node.ts';
import { agentProcesses } from './process-usage.ts';

/** Milliseconds until every pod is owned by the right instance of pod-workers, after an instance was added or removed. */
export interface TakeOvers {
  readonly added: number;
  readonly removed: number;
  /** Killed, and unable to restart. */
  readonly killed: number;
}

/** On a node with pods and two instances of pod-workers, one of which is added, removed, added and lost. */
export async function measureTakeOvers(node: BenchNode): Promise<TakeOvers> {
  const [one, two] = [['pod-workers-0'], ['pod-workers-0', 'pod-workers-1']];
  const added = await node.moved(two, () => node.scale('pod-workers', 2));
  const removed = await node.moved(one, () => node.scale('pod-workers', 1));
  await node.moved(two, () => node.scale('pod-workers', 2));
  const killed = await node.moved(one, () => loseInstance(node));
  await node.scale('pod-workers', 1);
  return { added, removed, killed };
}

/** Kills the second instance, and prevents its restart. */
function loseInstance(node: BenchNode): Promise<unknown> {
  return takeSlot(node.dir.state('pod-workers'), 1, async () => {
    const pid = (await agentProcesses(node.dir)).get('pod-workers-1');
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  });
}
