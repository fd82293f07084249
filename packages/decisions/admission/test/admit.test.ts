import { describe, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import { type AdmissionNode, type Neighbour, admit } from '../src/index.ts';
import { STATIC, asking, neighbour, node, pod } from './neighbours.ts';

/** `<reason>: <message>` of a refusal, or the pods that have to end first. */
function verdict(one: Pod, neighbours: readonly Neighbour[] = [], changes: Partial<AdmissionNode> = {}): string {
  const admission = admit(one, neighbours, { ...node, ...changes });
  if (!admission.admitted) return `${admission.refusal.reason}: ${admission.refusal.message}`;
  return admission.victims.length === 0 ? 'admitted' : `after ${admission.victims.join(' ')}`;
}

const shortage = (resource: string, requested: number, used: number, capacity: number) =>
  `OutOf${resource}: Node didn't have enough resource: ${resource}, ` +
  `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
const predicate = (name: string, text: string) => `${name}: Predicate ${name} failed: ${text}`;
const WRONG_NODE = predicate('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
const PORTS = predicate('NodePorts', "node(s) didn't have free ports for the requested pod ports");
const TAINTED = predicate('TaintToleration', "node(s) had taints that the pod didn't tolerate");

const container = (name: string, requests: Record<string, string>, more: object = {}) => ({
  name,
  image: 'busybox',
  resources: { requests },
  ...more,
});

describe('admission by resources', () => {
  const other = neighbour('o', asking({ cpu: '1500m', memory: '900Mi' }));

  test.each([
    ['admits a pod that requests exactly what is left', asking({ cpu: '500m', memory: '124Mi' }), 'admitted'],
    ['admits a pod without requests', pod(), 'admitted'],
    ['cpu', asking({ cpu: '501m', memory: '1Gi' }), shortage('cpu', 501, 1500, 2000)],
    ['memory', asking({ memory: '125Mi' }), shortage('memory', 131_072_000, 943_718_400, 1_073_741_824)],
    ['storage', asking({ 'ephemeral-storage': '11Gi' }), shortage('ephemeral-storage', 11811160064, 0, 10737418240)],
    [
      'refuses a shortage of an extended resource',
      asking({ 'example.com/gpu': '2' }),
      shortage('example.com/gpu', 2, 0, 1),
    ],
    [
      'admits a pod with an extended resource that the node does not report',
      asking({ 'example.com/tpu': '2' }),
      'admitted',
    ],
    [
      'refuses huge pages that the node does not have',
      asking({ 'hugepages-2Mi': '4Mi' }),
      shortage('hugepages-2Mi', 4194304, 0, 0),
    ],
  ])('%s', (_name, one, expected) => {
    expect(verdict(one, [other])).toBe(expected);
  });

  test.each([
    ['adds the overhead to the requests', asking({ cpu: '1500m' }, { spec: { overhead: { cpu: '501m' } } }), 2001],
    [
      'uses the pod-level request instead of those of the containers',
      asking({ cpu: '1' }, { spec: { resources: { requests: { cpu: '3' } } } }),
      3000,
    ],
    [
      'adds up sidecars and regular containers',
      pod({
        initContainers: [container('s', { cpu: '1' }, { restartPolicy: 'Always' })],
        containers: [container('a', { cpu: '1' }), container('b', { cpu: '1' })],
      }),
      3000,
    ],
    [
      'uses an init container and the sidecars before it, where that is more',
      pod({
        initContainers: [container('s', { cpu: '1' }, { restartPolicy: 'Always' }), container('i', { cpu: '4' })],
        containers: [container('a', { cpu: '1' })],
      }),
      5000,
    ],
  ])('%s', (_name, one, requested) => {
    expect(verdict(one)).toBe(shortage('cpu', requested, 0, 2000));
  });

  test('limits the number of pods, whatever they request', () => {
    const three = ['x', 'y', 'z'].map((uid) => neighbour(uid, pod()));
    expect(verdict(pod(), three.slice(1))).toBe('admitted');
    expect(verdict(pod(), three)).toBe(shortage('pods', 1, 3, 3));
  });
});

describe('admission by node', () => {
  const term = (key: string, operator: string, values?: string[]) =>
    pod({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
          },
        },
      },
    });
  const fields = (operator: string, values: string[]) =>
    pod({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{}, { matchFields: [{ key: 'metadata.name', operator, values }] }],
          },
        },
      },
    });

  test.each([
    ['the node selector matches', pod({ nodeSelector: { zone: 'a' } }), true],
    ['the node selector does not match', pod({ nodeSelector: { zone: 'a', disks: '5' } }), false],
    ['In', term('zone', 'In', ['b', 'a']), true],
    ['In without the label’s value', term('zone', 'In', ['b']), false],
    ['In with a missing label', term('rack', 'In', ['']), false],
    ['NotIn', term('zone', 'NotIn', ['b']), true],
    ['NotIn with a missing label', term('rack', 'NotIn', ['b']), true],
    ['NotIn without values is invalid', term('rack', 'NotIn', []), false],
    ['Exists', term('zone', 'Exists'), true],
    ['DoesNotExist', term('zone', 'DoesNotExist'), false],
    ['Gt', term('disks', 'Gt', ['3']), true],
    ['Gt with an equal value', term('disks', 'Gt', ['4']), false],
    ['Lt', term('disks', 'Lt', ['10']), true],
    ['Lt with a label that is not a number', term('zone', 'Lt', ['10']), false],
    ['an unknown operator', term('zone', 'Near', ['a']), false],
    ['the node’s name', fields('In', ['node0']), true],
    ['another node’s name', fields('In', ['node1']), false],
    ['any name but another node’s', fields('NotIn', ['node1']), true],
    ['two names in one field requirement are invalid', fields('In', ['node0', 'node1']), false],
    [
      'no node selector terms',
      pod({
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
      }),
      false,
    ],
  ])('matches a pod’s selector and affinity: %s', (_name, one, matches) => {
    expect(verdict(one)).toBe(matches ? 'admitted' : WRONG_NODE);
  });

  test('matches a pod by the node name in its spec', () => {
    expect(verdict(pod({ nodeName: 'node0' }))).toBe('admitted');
    expect(verdict(pod({ nodeName: 'node1' }))).toBe(
      predicate('NodeName', "node(s) didn't match the requested node name"),
    );
  });

  test.each([
    ['is not tolerated', [], TAINTED],
    ['is tolerated by key', [{ key: 'k', operator: 'Exists' }], 'admitted'],
    ['is tolerated by value', [{ key: 'k', value: 'v', effect: 'NoExecute' }], 'admitted'],
    ['has another value', [{ key: 'k', operator: 'Equal', value: 'w' }], TAINTED],
    ['has another key', [{ key: 'l', operator: 'Exists' }], TAINTED],
    ['has another effect', [{ operator: 'Exists', effect: 'NoSchedule' }], TAINTED],
    ['is tolerated by a toleration of all taints', [{ operator: 'Exists' }], 'admitted'],
  ])('a taint that %s', (_name, tolerations, expected) => {
    const taints = [{ key: 'k', value: 'v', effect: 'NoExecute' }];
    expect(verdict(pod({ tolerations }), [], { taints })).toBe(expected);
    expect(verdict(pod({}, STATIC), [], { taints })).toBe('admitted');
    expect(verdict(pod(), [], { taints: [{ key: 'k', effect: 'NoSchedule' }] })).toBe('admitted');
  });
});

describe('a pod with a host port', () => {
  const open = (hostPort: number, more: object = {}) =>
    pod({ containers: [{ name: 'c', ports: [{ containerPort: 80, hostPort, ...more }] }] });
  const other = neighbour('o', open(8080, { hostIP: '192.0.2.1' }));

  test.each([
    ['is admitted when it is another port', open(8081), 'admitted'],
    ['none', open(0), 'admitted'],
    ['is refused when the port is open on all addresses', open(8080), PORTS],
    ['is refused when the port is open on the same address', open(8080, { hostIP: '192.0.2.1' }), PORTS],
    ['is admitted when the port is open on another address', open(8080, { hostIP: '192.0.2.2' }), 'admitted'],
    ['is admitted when the port has another protocol', open(8080, { protocol: 'UDP' }), 'admitted'],
  ])('%s', (_name, one, expected) => {
    expect(verdict(one, [other])).toBe(expected);
  });

  test('is refused when another pod has the port open on all addresses, or in a sidecar', () => {
    const sidecar = {
      name: 's',
      restartPolicy: 'Always',
      ports: [{ containerPort: 1, hostPort: 53, protocol: 'UDP' }],
    };
    const dns = neighbour('d', pod({ initContainers: [sidecar] }));
    expect(verdict(open(53, { protocol: 'UDP', hostIP: '192.0.2.9' }), [dns])).toBe(PORTS);
    expect(verdict(open(53), [dns])).toBe('admitted');
  });
});

describe('admission by platform', () => {
  test.each([
    [
      pod({}, { labels: { 'kubernetes.io/os': 'windows' } }),
      "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    ],
    [pod({}, { labels: { 'kubernetes.io/os': 'linux' } }), 'admitted'],
    [pod({ os: { name: 'windows' } }), "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS"],
    [pod({ os: { name: 'linux' } }), 'admitted'],
  ])('decides by operating system: case %#', (one, expected) => {
    expect(verdict(one)).toBe(expected);
  });

  test('refuses strict supplemental groups when the runtime does not support them', () => {
    const strict = pod({ securityContext: { supplementalGroupsPolicy: 'Strict' } });
    expect(verdict(strict)).toBe('admitted');
    expect(verdict(strict, [], { strictSupplementalGroups: false })).toBe(
      'SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node',
    );
  });

  test('refuses an AppArmor profile of a pending pod when the kernel does not enforce AppArmor', () => {
    const refused = 'AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host';
    const with_ = (type: string) => pod({ securityContext: { appArmorProfile: { type } } });
    const without = { appArmor: false };
    expect(verdict(with_('RuntimeDefault'))).toBe('admitted');
    expect(verdict(with_('RuntimeDefault'), [], without)).toBe(refused);
    expect(verdict(with_('Unconfined'), [], without)).toBe('admitted');
    expect(verdict(pod(), [], without)).toBe('admitted');
    const annotated = { 'container.apparmor.security.beta.kubernetes.io/c': 'localhost/strict' };
    expect(verdict(pod({}, { annotations: annotated }), [], without)).toBe(refused);
    expect(verdict({ ...with_('RuntimeDefault'), status: { phase: 'Running' } }, [], without)).toBe('admitted');
  });
});

describe('admission by sysctl', () => {
  const forbidden = (text: string) => `SysctlForbidden: forbidden sysctl: ${text}`;
  const setting = (name: string, spec: Partial<Pod['spec']> = {}) =>
    pod({
      securityContext: {
        sysctls: [
          { name: 'kernel.shm_rmid_forced', value: '1' },
          { name, value: '1' },
        ],
      },
      ...spec,
    });

  test.each([
    ['admits a safe sysctl', setting('net.ipv4.tcp_syncookies'), 'admitted'],
    ['admits a safe sysctl written with slashes', setting('net/ipv4/tcp_syncookies'), 'admitted'],
    ['admits a sysctl of an allowed group', setting('kernel.msgmax'), 'admitted'],
    ['refuses a sysctl that is not allowed', setting('kernel.sem'), forbidden('"kernel.sem" not allowlisted')],
    ['refuses a sysctl of the whole machine', setting('vm.swappiness'), forbidden('"vm.swappiness" not allowlisted')],
    [
      'refuses a network sysctl with the host’s network',
      setting('net.core.somaxconn', { hostNetwork: true }),
      forbidden('"net.core.somaxconn" not allowed with host Net enabled'),
    ],
    [
      'refuses an IPC sysctl with the host’s IPC namespace',
      setting('net.core.somaxconn', { hostIPC: true }),
      forbidden('"kernel.shm_rmid_forced" not allowed with host IPC enabled'),
    ],
  ])('%s', (_name, one, expected) => {
    expect(verdict(one)).toBe(expected);
  });
});

test('the first refusal in handler order is reported', () => {
  const everything = asking(
    { cpu: '9' },
    { spec: { os: { name: 'windows' }, nodeName: 'node1', nodeSelector: { zone: 'b' } } },
  );
  expect(verdict(everything)).toMatch(/^PodOSNotSupported/);
  const spec = { ...everything.spec, os: { name: 'linux' } };
  expect(verdict({ ...everything, spec })).toMatch(/^OutOfcpu/);
  expect(verdict({ ...everything, spec: { ...spec, containers: [] } })).toBe(WRONG_NODE);
});

test('an extended resource that a claim stands for needs no device of a plugin', () => {
  const requestMappings = [{ containerName: 'c', resourceName: 'example.com/gpu', requestName: 'r' }];
  const status = { extendedResourceClaimStatus: { resourceClaimName: 'claim', requestMappings } };
  const claimed = { ...asking({ 'example.com/gpu': '2' }, { equal: true }), status };
  expect(verdict(claimed)).toBe(verdict(pod()));
  const other = { containerName: 'other', resourceName: 'example.com/gpu', requestName: 'r' };
  const others = { extendedResourceClaimStatus: { resourceClaimName: 'claim', requestMappings: [other] } };
  expect(verdict({ ...claimed, status: others })).toBe(shortage('example.com/gpu', 2, 0, 1));
  // Nor does it occupy one.
  expect(verdict(asking({ 'example.com/gpu': '1' }), [neighbour('n', claimed)])).toBe(verdict(pod()));
});

describe('a critical pod', () => {
  const critical = (requests: Record<string, string>, spec: Partial<Pod['spec']> = {}) =>
    asking(requests, { spec, metadata: STATIC });
  const small = neighbour('small', asking({ cpu: '400m' }));
  const large = neighbour('large', asking({ cpu: '800m' }));
  const equal = neighbour('equal', asking({ cpu: '700m', memory: '1' }, { equal: true }));
  const idle = neighbour('idle', pod());
  const room = { allocatable: { ...node.allocatable, pods: '9' } };

  test.each([
    ['ends no pod when there is room', critical({ cpu: '100m' }), 'admitted'],
    ['ends the pod whose resources come closest', critical({ cpu: '500m' }), 'after small'],
    ['ends one larger pod rather than two', critical({ cpu: '800m' }), 'after large'],
    ['ends guaranteed pods only for what the others cannot provide', critical({ cpu: '1400m' }), 'after large equal'],
    ['is refused for any reason but resources', critical({ cpu: '800m' }, { nodeSelector: { zone: 'b' } }), WRONG_NODE],
    [
      'is refused when even all less important pods are not enough',
      critical({ cpu: '3' }),
      'UnexpectedAdmissionError: Unexpected error while attempting to recover from admission failure: preemption: error ' +
        'finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 2900), ]',
    ],
  ])('%s', (_name, one, expected) => {
    expect(verdict(one, [idle, small, large, equal], room)).toBe(expected);
  });

  test('ends a pod without requests when there are too many pods', () => {
    expect(verdict(critical({}), [small, idle, large])).toBe('after idle');
  });

  test('ends no pod that is equally important', () => {
    const important = neighbour('important', asking({ cpu: '2' }, { spec: { priority: 2_000_001_000 } }));
    expect(verdict(critical({ cpu: '1' }), [important])).toMatch(/^UnexpectedAdmissionError/);
    const more = asking({ cpu: '1' }, { spec: { priority: 2_000_002_000 } });
    expect(verdict(more, [important])).toBe('after important');
  });

  test('ends no pod that its source has not published', () => {
    expect(verdict(critical({ cpu: '1' }), [{ ...large, pod: undefined }, equal, small])).toBe('after small equal');
  });
});

test('refuses a pod whose log folder cannot exist', () => {
  const named = (length: number) => {
    const one = pod();
    const { namespace, uid } = one.metadata;
    return { ...one, metadata: { ...one.metadata, name: 'n'.repeat(length - namespace.length - uid.length - 2) } };
  };
  expect(verdict(named(255))).toBe('admitted');
  expect(verdict(named(258))).toBe(
    "NameTooLong: The pod's log folder <namespace>_<name>_<uid> would have a name of 258 characters, 3 more than can exist",
  );
});

describe('admission under pressure', () => {
  const memory = ['MemoryPressure'] as const;
  const both = ['MemoryPressure', 'DiskPressure'] as const;
  const burstable = asking({ memory: '1Mi' });
  const tolerant = pod({ tolerations: [{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists' }] });
  const critical = pod({ priority: 2_000_000_000 });

  test.each([
    ['nothing is short', pod(), [], 'admitted'],
    ['memory, no requests', pod(), memory, 'Evicted: The node had condition: [MemoryPressure]. '],
    ['memory, with requests', burstable, memory, 'admitted'],
    ['memory, no requests but a toleration', tolerant, memory, 'admitted'],
    ['the disk, with requests', burstable, ['DiskPressure'], 'Evicted: The node had condition: [DiskPressure]. '],
    ['processes', burstable, ['PIDPressure'], 'Evicted: The node had condition: [PIDPressure]. '],
    ['memory and disk', tolerant, both, 'Evicted: The node had condition: [MemoryPressure DiskPressure]. '],
    ['memory and disk, critical', critical, both, 'admitted'],
  ] as const)('%s', (_what, one, pressure, expected) => {
    expect(verdict(one, [], { pressure })).toBe(expected);
  });
});
