import type { Container, Pod, ResourceRequirements, RuntimeContainer, RuntimePod } from '@kubus/contracts';
import { exited, pod, run, runtime, sandbox } from '@kubus/pod-lifecycle/testing';
import type { ContainerDetails, PodStatusInput } from '../../src/index.ts';

/** One moment of a pod's life: its state in the runtime, and what else is known. */
type Frame = Partial<Omit<PodStatusInput, 'pod' | 'previous'>>;

/** A pod whose status was recorded from the reference kubelet, with its history up to the record. */
export interface Scenario {
  readonly pod: Pod;
  readonly life: readonly Frame[];
}

const IMAGE = 'docker.io/library/busybox:1.35';
const START = '1893456000000000000';
const END = '1893456001000000000';

const c: Container = { name: 'c', image: IMAGE };
const d: Container = { name: 'd', image: IMAGE };

const runs = (name: string, more: Partial<RuntimeContainer> = {}) =>
  run({ name, image: IMAGE, startedAt: START, ...more });
const ended = (name: string, exitCode: number, more: Partial<RuntimeContainer> = {}) =>
  exited(exitCode, {
    name,
    image: IMAGE,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    startedAt: START,
    finishedAt: END,
    ...more,
  });
const serving = (...containers: RuntimeContainer[]): RuntimePod => runtime(containers);
const over = (...containers: RuntimeContainer[]): RuntimePod =>
  runtime(containers, [sandbox({ ready: false, ips: [] })]);

/** The memory limit that cgroup v1 reports for a pod without one; the reference shows it from its second reading on. */
const unlimited: { actual: ResourceRequirements } = { actual: { limits: { memory: '9007199254740988Ki' } } };
const message = (id: string, terminationMessage: string): ReadonlyMap<string, ContainerDetails> =>
  new Map([[id, { terminationMessage }]]);
const waits = (reason: string, text: string) => new Map([['c', { reason, message: text }]]);

/** A pod with all containers running. */
function running(spec: Partial<Pod['spec']>): Scenario {
  const full = pod({ containers: [c], ...spec });
  return { pod: full, life: [{ runtime: serving(...full.spec.containers.map(({ name }) => runs(name))) }] };
}

/** A pod whose container c cannot be started. */
function refused(container: Partial<Container>, reason: string, text: string): Scenario {
  return {
    pod: pod({ containers: [{ ...c, ...container }] }),
    life: [{ runtime: serving(), waiting: waits(reason, text) }],
  };
}

const startError =
  'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "/no/such/binary": stat /no/such/binary: no such file or directory: unknown';
const probe = { exec: { command: ['true'] } };

export const scenarios: Readonly<Record<string, Scenario>> = {
  'active-deadline': {
    pod: pod({ containers: [c], activeDeadlineSeconds: 2 }),
    life: [
      { runtime: serving(runs('c')) },
      {
        runtime: over(ended('c', 0)),
        ending: true,
        failure: {
          reason: 'DeadlineExceeded',
          message: 'Pod was active on the node longer than the specified deadline',
        },
        podResources: unlimited,
      },
    ],
  },
  'config-key-missing': refused({}, 'CreateContainerConfigError', 'configmap "absent" not found'),
  crashloop: {
    pod: pod({ containers: [c] }),
    life: [{ runtime: serving(runs('c', { attempt: 2 }), ended('c', 1, { attempt: 1 })), podResources: unlimited }],
  },
  'crashloop (ended)': {
    pod: pod({ containers: [c] }),
    life: [{ runtime: serving(ended('c', 1, { attempt: 2 }), ended('c', 1, { attempt: 1 })), podResources: unlimited }],
  },
  'dns-hosts-hostname': running({ hostname: 'web', subdomain: 'sub' }),
  'env-downward-expansion': running({
    containers: [{ ...c, resources: { requests: { cpu: '150m', memory: '20Mi' }, limits: { memory: '40Mi' } } }],
  }),
  'failed-termination-message': {
    pod: pod({ containers: [c, d], restartPolicy: 'Never' }),
    life: [
      { runtime: serving(runs('c'), runs('d')) },
      {
        runtime: over(ended('c', 3), ended('d', 0)),
        details: new Map([...message('c-0', 'why'), ...message('d-0', 'fine')]),
        podResources: unlimited,
      },
    ],
  },
  'host-namespaces-privileged': {
    pod: pod({ containers: [c], hostNetwork: true }),
    life: [{ runtime: runtime([runs('c')], [sandbox({ ips: [], hostNetwork: true })]) }],
  },
  'image-invalid': refused(
    { image: 'Not A Valid//Name' },
    'InvalidImageName',
    'Failed to apply default image tag "Not A Valid//Name": couldn\'t parse image name "Not A Valid//Name": invalid reference format: repository name (/Name) must be lowercase',
  ),
  'image-never': refused(
    { image: 'docker.io/library/absent:1' },
    'ErrImageNeverPull',
    'Container image "docker.io/library/absent:1" is not present with pull policy of Never',
  ),
  'init-fail-never': {
    pod: pod({
      containers: [c],
      restartPolicy: 'Never',
      initContainers: [
        { name: 'i1', image: IMAGE },
        { name: 'i2', image: IMAGE },
      ],
    }),
    life: [{ runtime: serving(runs('i1')) }, { runtime: over(ended('i1', 7)) }],
  },
  'init-success': {
    pod: pod({
      containers: [c],
      initContainers: [
        { name: 'i1', image: IMAGE },
        { name: 'i2', image: IMAGE },
      ],
    }),
    life: [{ runtime: serving(runs('c'), ended('i1', 0), ended('i2', 0)), details: message('i2-0', 'two\n') }],
  },
  'labels-annotations-ports': running({
    containers: [
      { name: 'web', image: IMAGE },
      { name: 'second', image: IMAGE },
    ],
  }),
  'lifecycle-hooks-delete': running({
    containers: [
      { ...c, volumeMounts: [{ name: 'h', mountPath: '/h' }] },
      { name: 'stubborn', image: IMAGE },
    ],
  }),
  'liveness-http': {
    pod: pod({ containers: [{ ...c, readinessProbe: probe, livenessProbe: probe }] }),
    life: [
      {
        runtime: serving(runs('c')),
        probes: { startup: new Map(), liveness: new Map(), readiness: new Map([['c-0', 'failure']]) },
        podResources: unlimited,
      },
    ],
  },
  'projected-token': running({ containers: [{ ...c, volumeMounts: [{ name: 't', mountPath: '/t' }] }] }),
  'qos-burstable': running({
    containers: [{ ...c, resources: { requests: { cpu: '100m', memory: '32Mi' }, limits: { memory: '64Mi' } } }, d],
  }),
  'qos-guaranteed': running({
    containers: [
      {
        ...c,
        resources: { requests: { cpu: '250m', memory: '64Mi' }, limits: { cpu: '250m', memory: '64Mi' } },
      },
    ],
  }),
  'readiness-never': {
    pod: pod({ containers: [{ ...c, readinessProbe: probe }, d] }),
    life: [{ runtime: serving(runs('c'), runs('d')), podResources: unlimited }],
  },
  'run-as-non-root-refused': refused(
    {},
    'CreateContainerConfigError',
    'container has runAsNonRoot and image will run as root (pod: "t_<ns>(<uuid>)", container: c)',
  ),
  'security-context': running({ containers: [c, d] }),
  'share-process-namespace': running({ containers: [c, d], shareProcessNamespace: true }),
  'sidecar-completes': {
    pod: pod({
      containers: [c],
      restartPolicy: 'Never',
      initContainers: [
        { name: 'side', image: IMAGE, restartPolicy: 'Always', startupProbe: probe },
        { name: 'i2', image: IMAGE },
      ],
    }),
    life: [
      {
        runtime: serving(runs('c'), runs('side'), ended('i2', 0)),
        probes: { startup: new Map([['side-0', 'success']]), liveness: new Map(), readiness: new Map() },
      },
      { runtime: over(ended('c', 0), ended('side', 0), ended('i2', 0)) },
    ],
  },
  'simple-delete': running({}),
  simple: running({}),
  'start-error': {
    pod: pod({ containers: [c] }),
    life: [
      {
        runtime: serving(ended('c', 128, { attempt: 2, reason: 'StartError', message: startError })),
        waiting: waits('RunContainerError', startError),
        podResources: unlimited,
      },
    ],
  },
  succeeded: {
    pod: pod({
      containers: [
        { name: 'a', image: IMAGE },
        { name: 'b', image: IMAGE },
      ],
      restartPolicy: 'OnFailure',
    }),
    life: [{ runtime: serving(runs('a'), runs('b')) }, { runtime: over(ended('a', 0), ended('b', 0)) }],
  },
  'sysctl-safe': running({}),
  'volume-missing-secret': {
    pod: pod({ containers: [{ ...c, volumeMounts: [{ name: 's', mountPath: '/s' }] }] }),
    life: [{}],
  },
  volumes: running({
    containers: [
      {
        ...c,
        resources: { requests: { cpu: '100m' } },
        volumeMounts: [
          { name: 'mem', mountPath: '/v/mem' },
          { name: 'disk', mountPath: '/v/disk', subPath: 'a/b' },
          { name: 'disk', mountPath: '/v/expr', subPathExpr: '$(POD)' },
          { name: 'host', mountPath: '/v/host', readOnly: true },
          { name: 'cm', mountPath: '/v/cm' },
          { name: 'cm', mountPath: '/v/file', subPath: 'sub/k' },
          { name: 'sec', mountPath: '/v/sec' },
          { name: 'down', mountPath: '/v/down' },
          { name: 'all', mountPath: '/v/all', mountPropagation: 'None' },
        ],
      },
    ],
  }),
};
