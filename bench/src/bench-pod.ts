import type { Pod } from '@kubus/contracts';
import { busyboxReference } from '@kubus/node-images';
import { readManifest } from '@kubus/pod-source';

/** A container that runs until SIGTERM and then exits at once. */
export const benchContainer = {
  name: 'main',
  image: busyboxReference,
  command: ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 3600 & wait $!; done'],
};

/** The manifest of a pod with such a container. */
export function benchManifest(name: string): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers: [benchContainer] } });
}

/** The same pod with the defaults that a node applies. */
export function benchPod(name: string): Pod {
  const origin = { source: 'file', path: `/${name}.json`, node: 'floor', seenAt: new Date(0).toISOString() } as const;
  const { pods, errors } = readManifest({ ...origin, text: benchManifest(name) });
  const [pod] = pods;
  if (pod === undefined) throw new Error(`the manifest of the benchmark is invalid: ${JSON.stringify(errors)}`);
  return pod;
}
