import { container, pod, podRunning, shell } from './pods.ts';

/** A pod by its name. */
export interface NamedPod {
  readonly name: string;
  readonly manifest: object;
  /** It does its work once; all others stay. */
  readonly ends: boolean;
  /** One of its containers ends by itself. */
  readonly isBrief: boolean;
}

/** On a machine with much to do it takes its time. */
const succeeds = { exec: { command: ['true'] }, periodSeconds: 1, timeoutSeconds: 30 };
const nap = { exec: { command: ['sleep', '0.2'] } };

/** Ways in which a pod can be, each of which has messages of its own. */
const makers: readonly ((name: string) => Omit<NamedPod, 'isBrief'>)[] = [
  (name) => ({ name, manifest: pod(name), ends: false }),
  (name) => ({
    name,
    manifest: pod(name, { containers: [container({ name: 'one' }), container({ name: 'two' })] }),
    ends: false,
  }),
  (name) => ({
    name,
    manifest: pod(name, {
      containers: [container({ name: 'main', readinessProbe: succeeds, livenessProbe: succeeds })],
    }),
    ends: false,
  }),
  (name) => ({ name, manifest: podRunning(name, 'sleep 0.2', { restartPolicy: 'Never' }), ends: true }),
  (name) => ({
    name,
    manifest: pod(name, {
      initContainers: [container({ name: 'init', command: shell('sleep 0.1') })],
      containers: [container({ name: 'main', lifecycle: { preStop: nap } })],
    }),
    ends: false,
  }),
  (name) => ({ name, manifest: pod(name, { hostNetwork: true }), ends: false }),
];

/** That many pods, of every way in turn. */
export function manyPods(count: number): NamedPod[] {
  return Array.from({ length: count }, (_, index) => {
    const make = makers[index % makers.length];
    if (make === undefined) throw new Error('there is no such pod');
    const made = make(`story-${index}`);
    return { ...made, isBrief: made.ends || JSON.stringify(made.manifest).includes('"initContainers"') };
  });
}
