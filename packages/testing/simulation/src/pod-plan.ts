import type { ResourceList } from '@kubus/contracts';
import type { Random } from '@kubus/ports';
import type { Behaviour } from './runtime-things.ts';

type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

/** A pod of a schedule. The first letter of a container's name defines its behaviour; see {@link behaviourOf}. */
export interface PodPlan {
  readonly name: string;
  readonly uid: string;
  readonly restartPolicy: RestartPolicy;
  /** Names of the init containers and sidecars, in order. */
  readonly inits: readonly string[];
  /** Name of the regular container. */
  readonly main: string;
  /** The regular container mounts a volume. */
  readonly volume: boolean;
  /** It mounts only a part of the volume. */
  readonly subPath: boolean;
  /** It does not use the host's users. */
  readonly ownUsers: boolean;
  /** By container: what it requests, which is also its limit. Missing: the pod requests nothing. */
  readonly resources?: Readonly<Record<string, ResourceList>>;
  /** What the pod requests as a whole, which is also its limit. Missing: only its containers request something. */
  readonly whole?: ResourceList;
}

const RUNS: Behaviour = { runMs: undefined, exitCode: 0 };

/**
 * - `r` runs, `h` with a preStop handler, `p` with probes that pass, `l` with a liveness probe that its first run fails;
 * - `d` does its work and ends, `f` fails;
 * - `i` is an init container, `j` one whose first run fails;
 * - `s` is a sidecar, `u` one with a startup probe.
 */
export function behaviourOf(container: string, attempt: number): Behaviour {
  switch (container.charAt(0)) {
    case 'd':
      return { runMs: 2_000, exitCode: 0 };
    case 'f':
      return { runMs: 1_000, exitCode: 1 };
    case 'i':
      return { runMs: 300, exitCode: 0 };
    case 'j':
      return { runMs: 400, exitCode: attempt === 0 ? 1 : 0 };
    default:
      return RUNS;
  }
}

export function isSidecar(container: string): boolean {
  return ['s', 'u'].includes(container.charAt(0));
}

/** How often a container that never ends by itself may be started; undefined: unlimited. */
export function startsOf(container: string): number | undefined {
  const letter = container.charAt(0);
  if (letter === 'l') return 2;
  return ['r', 'h', 'p', 's', 'u'].includes(letter) ? 1 : undefined;
}

/** True for a pod whose regular container ends and is not restarted. */
export function ends({ main, restartPolicy }: PodPlan): boolean {
  const letter = main.charAt(0);
  return (
    (restartPolicy === 'Never' && (letter === 'd' || letter === 'f')) ||
    (restartPolicy === 'OnFailure' && letter === 'd')
  );
}

export function planPod(number: number, random: Random): PodPlan {
  const letter = random.pick(['r', 'r', 'h', 'p', 'l', 'd', 'f']);
  const restartPolicy = ['d', 'f'].includes(letter) ? random.pick(['Always', 'OnFailure', 'Never'] as const) : 'Always';
  const kinds = restartPolicy === 'Never' ? ['i', 's', 'u'] : ['i', 'j', 's', 'u'];
  const inits = Array.from(
    { length: random.pick([0, 0, 1, 2, 3]) },
    (_, index) => `${random.pick(kinds)}${number}-${index}`,
  );
  return {
    name: `p${number}`,
    uid: `uid-${number}`,
    restartPolicy,
    inits,
    main: `${letter}${number}`,
    volume: random.chance(0.3),
    subPath: number % 3 !== 0,
    ownUsers: number % 2 === 0,
  };
}

export function manifestOf(plan: PodPlan): string {
  const { name, uid, restartPolicy, inits, main, volume, subPath, ownUsers, resources = {}, whole } = plan;
  const containerOf = (container: string) => {
    const own = resources[container];
    return { ...withBehaviour(container), ...(own !== undefined && { resources: { requests: own, limits: own } }) };
  };
  const mount = { name: 'data', mountPath: '/data', ...(subPath && { subPath: 'part' }) };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, uid },
    spec: {
      restartPolicy,
      ...(ownUsers && { hostUsers: false }),
      ...(whole && { resources: { requests: whole, limits: whole } }),
      terminationGracePeriodSeconds: 5,
      initContainers: inits.map(containerOf),
      containers: [{ ...containerOf(main), ...(volume && { volumeMounts: [mount] }) }],
      ...(volume && { volumes: [{ name: 'data', emptyDir: {} }] }),
    },
  });
}

function withBehaviour(name: string): object {
  const handler = { exec: { command: ['true'] } };
  return {
    name,
    image: 'busybox:1',
    ...(isSidecar(name) && { restartPolicy: 'Always' }),
    ...(name.startsWith('u') && { startupProbe: handler }),
    ...(name.startsWith('h') && { lifecycle: { preStop: handler } }),
    ...(name.startsWith('p') && { startupProbe: handler, readinessProbe: handler }),
    ...(name.startsWith('l') && { livenessProbe: handler }),
  };
}
