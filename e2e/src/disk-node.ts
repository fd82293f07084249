import { type EvictionDecision, type EvictionRanking, evictPod, nodeAgentEvent } from '@kubus/contracts';
import type { TestNode, WatchedPod } from '@kubus/harness';
import { buildBusybox } from '@kubus/node-images';
import { container, pod, shell } from './pods.ts';

/** Sets hard thresholds of a node, and that images may be removed at any age. */
export async function setThresholds(
  node: TestNode,
  hard: Readonly<Record<string, string>>,
  transitionMs: number,
): Promise<void> {
  await node.reconfigure((config) => ({
    ...config,
    images: { ...config.images, gc: { ...config.images.gc, minAgeMs: 0 } },
    eviction: { ...config.eviction, hard, transitionMs },
  }));
  for (const service of ['cri-bridge-0', 'node-agent-0']) await node.restart(service);
}

/** A shell line that makes a file of this size. */
export const file = (path: string, mebibytes: number): string =>
  `dd if=/dev/zero of=${path} bs=1M count=${mebibytes} 2>/dev/null`;

/** A shell line that makes so many empty files in a folder. */
export const files = (folder: string, count: number): string =>
  `i=0; while [ $i -lt ${count} ]; do : > ${folder}/$i; i=$((i+1)); done`;

/** A pod that is ready when it has run this line; it has a volume at `/data`. */
export function writer(name: string, line: string, resources: object = {}): object {
  return pod(name, {
    volumes: [{ name: 'data', emptyDir: {} }],
    containers: [
      container({
        ...{ name: 'main', resources, command: shell(`${line} && touch /tmp/full; sleep 3600`) },
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
        readinessProbe: { exec: { command: ['test', '-e', '/tmp/full'] }, periodSeconds: 1 },
      }),
    ],
  });
}

/** A pod that ends well when it has run this line. */
export function ending(name: string, line: string): object {
  return pod(name, { restartPolicy: 'Never', containers: [container({ name: 'main', command: shell(line) })] });
}

export const isEvicted = ({ status }: WatchedPod): boolean => status?.phase === 'Failed' && status.reason === 'Evicted';

/** Evicted, and nothing runs or is mounted any more. */
export const isOver = (one: WatchedPod): boolean =>
  isEvicted(one) && one.worker?.state === 'terminated' && one.worker.cleaned === true;

/** Loads an image that no pod uses; returns its name. */
export async function loadUnused(node: TestNode, name: string): Promise<string> {
  const reference = `docker.io/library/${name}:1`;
  const { archive } = await buildBusybox({ reference, labels: { name } }, node.folder);
  const { code, stderr } = await node.kubus('image', 'load', archive);
  if (code !== 0) throw new Error(stderr);
  return reference;
}

/** The names of the images that the runtime has. */
export async function imagesOf(node: TestNode): Promise<string[]> {
  return ((await node.cri('ListImages', {})).images ?? []).flatMap(({ repoTags = [] }) => repoTags);
}

/** In which order pods would go for a signal. */
export async function rankingOf(node: TestNode, signal: string): Promise<EvictionRanking> {
  const { stdout } = await node.kubus('pressure', '--signal', signal, '-o', 'json');
  return (JSON.parse(stdout) as { ranking: EvictionRanking }).ranking;
}

export const podNames = (of: EvictionRanking | undefined): string[] | undefined => of?.pods.map(({ ref }) => ref.name);

/** Why a pod was evicted, as sync-loop has received it. */
export function decisionOf(node: TestNode, { ref }: WatchedPod): EvictionDecision | undefined {
  const [request] = node.watch.messages
    .ofType('sync.cmd.evict')
    .filter(({ envelope }) => envelope?.pod === ref.uid)
    .map(({ message }) => evictPod.request.parse(JSON.parse(message.data)));
  return request?.decision;
}

/** The Kubernetes events of node-agent about the node, oldest first. */
export function nodeEventsOf(node: TestNode): string[] {
  return node.watch.messages
    .ofType('node.event.recorded')
    .map(({ message }) => nodeAgentEvent.payload.parse(JSON.parse(message.data)))
    .map(({ type, reason, message }) => `${type} ${reason} ${message}`);
}
