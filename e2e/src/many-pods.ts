import { container, pod, podRunning, shell } from './pods.ts';

/** A pod by its name. */
export interface NamedPod {
  readonly name: string;
  readonly manifest: object;
  /** It runs to its end once; all others keep running. */
  readonly ends: boolean;
  /** One of its containers exits on its own. */
  readonly isBrief: boolean;
}

/** Its timeout allows for a busy machine. */
const succeeds = { exec: { command: ['true'] }, periodSeconds: 1, timeoutSeconds: 30 };
const nap = { exec: { command: ['sleep', '0.2'] } };

/** Kinds of pods, each of which causes messages of its own. */
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

/** That many pods, of each kind in turn. */
export function manyPods(count: number): NamedPod[] {
  return Array.from({ length: count }, (_, index) => {
    const make = makers[index % makers.length];
    if (make === undefined) throw new Error('there is no such pod');
    const made = make(`story-${index}`);
    return { ...made, isBrief: made.ends || JSON.stringify(made.manifest).includes('"initContainers"') };
  });
}
