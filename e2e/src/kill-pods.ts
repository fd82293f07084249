import { type WatchedPod, isReady } from '@kubus/harness';
import { container, pod, podRunning, shell } from './pods.ts';

/** The behaviour of a pod: it keeps running, runs to completion once, or ends and is restarted for ever. */
type Life = 'stays' | 'once' | 'again';

export interface KillPod {
  readonly name: string;
  readonly life: Life;
  readonly containers: readonly string[];
  readonly manifest: object;
}

/** A probe that never fails on its own, even on a busy machine: if it restarts a container, a kill was the reason. */
const succeeds = { exec: { command: ['true'] }, periodSeconds: 1, timeoutSeconds: 30, failureThreshold: 1 };

/** A hook that takes long enough for a kill to happen meanwhile. */
const nap = { exec: { command: ['sleep', '0.3'] } };

/** The twenty pods of the kill test. */
export const killPods: readonly KillPod[] = [
  ...several(3, 'stay', (name) => ({ name, life: 'stays', containers: ['main'], manifest: pod(name) })),
  ...several(2, 'pair', (name) => ({
    name,
    life: 'stays',
    containers: ['one', 'two'],
    manifest: pod(name, { containers: [container({ name: 'one' }), container({ name: 'two' })] }),
  })),
  ...several(2, 'sidecar', (name) => ({
    name,
    life: 'stays',
    containers: ['main'],
    manifest: pod(name, {
      initContainers: [
        container({ name: 'init', command: shell('sleep 0.3') }),
        container({ name: 'side', restartPolicy: 'Always', startupProbe: succeeds }),
      ],
    }),
  })),
  ...several(1, 'hook', (name) => ({
    name,
    life: 'stays',
    containers: ['main'],
    manifest: pod(name, { containers: [container({ name: 'main', lifecycle: { postStart: nap, preStop: nap } })] }),
  })),
  ...several(2, 'probed', (name) => ({
    name,
    life: 'stays',
    containers: ['main'],
    manifest: pod(name, {
      containers: [container({ name: 'main', readinessProbe: succeeds, livenessProbe: succeeds })],
    }),
  })),
  ...several(1, 'host', (name) => ({
    name,
    life: 'stays',
    containers: ['main'],
    manifest: pod(name, { hostNetwork: true }),
  })),
  ...several(4, 'crash', (name) => again(name, 'sleep 1; exit 1', 'Always')),
  ...several(2, 'retry', (name) => again(name, 'sleep 1; exit 3', 'OnFailure')),
  ...several(1, 'ends', (name) => again(name, 'sleep 1', 'Always')),
  ...several(2, 'once', (name) => ({
    name,
    life: 'once',
    containers: ['main'],
    manifest: podRunning(name, 'sleep 1', { restartPolicy: 'Never' }),
  })),
];

function several(count: number, name: string, make: (name: string) => KillPod): KillPod[] {
  return Array.from({ length: count }, (_, index) => make(`${name}-${index}`));
}

function again(name: string, line: string, restartPolicy: string): KillPod {
  const containers = [container({ name: 'main', command: shell(line) })];
  return { name, life: 'again', containers: ['main'], manifest: pod(name, { restartPolicy, containers }) };
}

/** containerd's reasons for a container that started or ended while containerd was being killed. */
const LOST_REASONS = ['StartError', 'Unknown'];

/**
 * Whether a pod on the node is as it should be. A container whose start was interrupted by a kill of containerd has not
 * run, and
 * counts as ended; one whose end was interrupted has an unknown exit. How often each has run is in containerd's event log.
 *
 * @param ended how often the test itself has ended each of its containers.
 */
export function isRight({ life }: KillPod, view: WatchedPod, ended: (container: string) => number): boolean {
  const { status } = view;
  const statuses = status?.containerStatuses ?? [];
  switch (life) {
    case 'stays':
      return isReady(view) && statuses.every(({ name, restartCount }) => restartCount >= ended(name));
    case 'once':
      return (
        status?.phase === 'Succeeded' ||
        (status?.phase === 'Failed' &&
          statuses.every(({ state }) => LOST_REASONS.includes(state?.terminated?.reason ?? '')))
      );
    case 'again':
      return (
        status?.phase === 'Running' &&
        statuses.every(({ state }) => state?.running !== undefined || state?.waiting?.reason === 'CrashLoopBackOff')
      );
  }
}
