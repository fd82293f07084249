import { Cluster } from '@kubus/kube-fixture';
import { parentPort, workerData } from 'node:worker_threads';

/** What a thread of watches is given. */
export interface WatchersData {
  readonly kubeconfig: string;
  readonly path: string;
  readonly watches: number;
}

/**
 * A thread whose watches read every change: the one that writes has nothing to do with them, like the clients of a node. It says when they are open, and
 * after any message how many changes they have seen.
 */
if (parentPort !== null) {
  const port = parentPort;
  const { kubeconfig, path, watches } = workerData as WatchersData;
  const cluster = Cluster.open(kubeconfig);
  const open = await Promise.all(Array.from({ length: watches }, () => cluster.watch(path)));
  let seen = 0;
  const read = open.map(async (watch) => {
    while ((await watch.next()) !== undefined) seen++;
  });
  port.once('message', () => {
    for (const watch of open) watch.close();
    void Promise.all(read).then(() => port.postMessage(seen));
  });
  port.postMessage('open');
}
