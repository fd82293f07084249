import type { TestNode } from '@kubus/harness';
import { container, pod, shell } from './pods.ts';

/** The state of a pod that changes when it is affected. */
export interface PodState {
  readonly name: string;
  readonly uid: string;
  readonly phase: string | undefined;
  /** When the condition Ready last changed. */
  readonly readySince: string | null | undefined;
  /** Of each container: its ID, how often it was restarted, and whether it is ready. */
  readonly containers: readonly (readonly [id: string | undefined, restarts: number, ready: boolean])[];
}

/** The present state of the pods of these names. */
export function podStates(node: TestNode, names: readonly string[]): PodState[] {
  return names.flatMap((name) =>
    node.watch.podsNamed(name).map(({ ref, status }) => ({
      name,
      uid: ref.uid,
      phase: status?.phase,
      readySince: status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime,
      containers: (status?.containerStatuses ?? []).map(
        ({ containerID, restartCount, ready }) => [containerID, restartCount, ready] as const,
      ),
    })),
  );
}

const PORT = 8080;

/** A pod with an HTTP server for a file in a volume; its probes request that file. */
export function servingPod(name: string): object {
  const httpGet = { path: '/said', port: PORT };
  const probe = { httpGet, periodSeconds: 1, timeoutSeconds: 30 };
  return pod(name, {
    volumes: [{ name: 'www', emptyDir: { medium: 'Memory' } }],
    containers: [
      container({
        name: 'main',
        command: shell(`echo well >/www/said && exec httpd -f -p ${PORT} -h /www`),
        volumeMounts: [{ name: 'www', mountPath: '/www' }],
        readinessProbe: probe,
        livenessProbe: { ...probe, failureThreshold: 3 },
      }),
    ],
  });
}

/**
 * A pod that sends requests to a {@link servingPod} without end, and counts: files in /asked have one line for each
 * request that
 * was answered, and that was not. It depends on nothing of the node but the network between the two pods.
 *
 * @param ip the address of the pod that serves
 */
export function askingPod(name: string, ip: string): object {
  const ask = `printf 'GET /said HTTP/1.0\\r\\n\\r\\n' | nc -w 30 ${ip} ${PORT} | grep -q well`;
  return pod(name, {
    volumes: [{ name: 'asked', emptyDir: {} }],
    containers: [
      container({
        name: 'main',
        command: shell(
          `trap "exit 0" TERM; while :; do if ${ask}; then echo >>/asked/answered; else echo >>/asked/failed; fi; sleep 0.1; done`,
        ),
        volumeMounts: [{ name: 'asked', mountPath: '/asked' }],
      }),
    ],
  });
}

/** The command with which a container of an {@link askingPod} prints how many requests were answered, and how many were not. */
export const askedSoFar = shell('cd /asked; for one in answered failed; do cat $one 2>/dev/null | wc -l; done');

/** Parses the output of {@link askedSoFar}. */
export function readAsked(said: string): { answered: number; failed: number } {
  const [answered = NaN, failed = NaN] = said.trim().split('\n').map(Number);
  return { answered, failed };
}
