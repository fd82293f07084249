import { describe, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import { type AdmissionNode, type Neighbour, admit } from '../src/index.ts';
import { STATIC, asking, neighbour, node, pod } from './neighbours.ts';

/** `<reason>: <message>` of a refusal, or who has to go first. */
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

describe('resources', () => {
  const other = neighbour('o', asking({ cpu: '1500m', memory: '900Mi' }));

  test.each([
    ['what is left fits', asking({ cpu: '500m', memory: '124Mi' }), 'admitted'],
    ['nothing is asked for', pod(), 'admitted'],
    ['cpu', asking({ cpu: '501m', memory: '1Gi' }), shortage('cpu', 501, 1500, 2000)],
    ['memory', asking({ memory: '125Mi' }), shortage('memory', 131_072_000, 943_718_400, 1_073_741_824)],
    ['storage', asking({ 'ephemeral-storage': '11Gi' }), shortage('ephemeral-storage', 11811160064, 0, 10737418240)],
    ['an extended resource', asking({ 'example.com/gpu': '2' }), shortage('example.com/gpu', 2, 0, 1)],
    ['one that the node does not know', asking({ 'example.com/tpu': '2' }), 'admitted'],
    [
      'huge pages that the node does not have',
      asking({ 'hugepages-2Mi': '4Mi' }),
      shortage('hugepages-2Mi', 4194304, 0, 0),
    ],
  ])('%s', (_name, one, expected) => {
    expect(verdict(one, [other])).toBe(expected);
  });

  test.each([
    ['the overhead counts', asking({ cpu: '1500m' }, { spec: { overhead: { cpu: '501m' } } }), 2001],
    [
      'the pod’s own request replaces its containers’',
      asking({ cpu: '1' }, { spec: { resources: { requests: { cpu: '3' } } } }),
      3000,
    ],
    [
      'sidecars and regular containers are summed up',
      pod({
        initContainers: [container('s', { cpu: '1' }, { restartPolicy: 'Always' })],
        containers: [container('a', { cpu: '1' }), container('b', { cpu: '1' })],
      }),
      3000,
    ],
    [
      'an init container counts with the sidecars before it, where that is more',
      pod({
        initContainers: [container('s', { cpu: '1' }, { restartPolicy: 'Always' }), container('i', { cpu: '4' })],
        containers: [container('a', { cpu: '1' })],
      }),
      5000,
    ],
  ])('%s', (_name, one, requested) => {
    expect(verdict(one)).toBe(shortage('cpu', requested, 0, 2000));
  });

  test('the number of pods is limited, whatever they ask for', () => {
    const three = ['x', 'y', 'z'].map((uid) => neighbour(uid, pod()));
    expect(verdict(pod(), three.slice(1))).toBe('admitted');
    expect(verdict(pod(), three)).toBe(shortage('pods', 1, 3, 3));
  });
});

describe('the node', () => {
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
    ['the selector matches', pod({ nodeSelector: { zone: 'a' } }), true],
    ['the selector does not', pod({ nodeSelector: { zone: 'a', disks: '5' } }), false],
    ['In', term('zone', 'In', ['b', 'a']), true],
    ['not In', term('zone', 'In', ['b']), false],
    ['In of a label that is missing', term('rack', 'In', ['']), false],
    ['NotIn', term('zone', 'NotIn', ['b']), true],
    ['NotIn of a label that is missing', term('rack', 'NotIn', ['b']), true],
    ['NotIn nothing makes no sense', term('rack', 'NotIn', []), false],
    ['Exists', term('zone', 'Exists'), true],
    ['DoesNotExist', term('zone', 'DoesNotExist'), false],
    ['Gt', term('disks', 'Gt', ['3']), true],
    ['not Gt', term('disks', 'Gt', ['4']), false],
    ['Lt', term('disks', 'Lt', ['10']), true],
    ['Lt of what is no number', term('zone', 'Lt', ['10']), false],
    ['an operator of a newer version', term('zone', 'Near', ['a']), false],
    ['its name', fields('In', ['node0']), true],
    ['another one’s name', fields('In', ['node1']), false],
    ['every name but another one’s', fields('NotIn', ['node1']), true],
    ['two names at once make no sense', fields('In', ['node0', 'node1']), false],
    [
      'no terms',
      pod({
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
      }),
      false,
    ],
  ])('is matched by affinity: %s', (_name, one, matches) => {
    expect(verdict(one)).toBe(matches ? 'admitted' : WRONG_NODE);
  });

  test('may be named', () => {
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
    ['is tolerated as everything is', [{ operator: 'Exists' }], 'admitted'],
  ])('a taint that %s', (_name, tolerations, expected) => {
    const taints = [{ key: 'k', value: 'v', effect: 'NoExecute' }];
    expect(verdict(pod({ tolerations }), [], { taints })).toBe(expected);
    expect(verdict(pod({}, STATIC), [], { taints })).toBe('admitted');
    expect(verdict(pod(), [], { taints: [{ key: 'k', effect: 'NoSchedule' }] })).toBe('admitted');
  });
});

describe('host ports', () => {
  const open = (hostPort: number, more: object = {}) =>
    pod({ containers: [{ name: 'c', ports: [{ containerPort: 80, hostPort, ...more }] }] });
  const other = neighbour('o', open(8080, { hostIP: '192.0.2.1' }));

  test.each([
    ['another one', open(8081), 'admitted'],
    ['none', open(0), 'admitted'],
    ['the same on all addresses', open(8080), PORTS],
    ['the same on that address', open(8080, { hostIP: '192.0.2.1' }), PORTS],
    ['the same on another address', open(8080, { hostIP: '192.0.2.2' }), 'admitted'],
    ['the same of another protocol', open(8080, { protocol: 'UDP' }), 'admitted'],
  ])('%s', (_name, one, expected) => {
    expect(verdict(one, [other])).toBe(expected);
  });

  test('that a neighbour has open on all addresses, and those of sidecars', () => {
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

describe('the platform', () => {
  test.each([
    [
      pod({}, { labels: { 'kubernetes.io/os': 'windows' } }),
      "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    ],
    [pod({}, { labels: { 'kubernetes.io/os': 'linux' } }), 'admitted'],
    [pod({ os: { name: 'windows' } }), "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS"],
    [pod({ os: { name: 'linux' } }), 'admitted'],
  ])('%#', (one, expected) => {
    expect(verdict(one)).toBe(expected);
  });

  test('strict groups need a runtime that knows them', () => {
    const strict = pod({ securityContext: { supplementalGroupsPolicy: 'Strict' } });
    expect(verdict(strict)).toBe('admitted');
    expect(verdict(strict, [], { strictSupplementalGroups: false })).toBe(
      'SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node',
    );
  });

  test('AppArmor profiles need a kernel that enforces them, as long as the pod is pending', () => {
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

describe('sysctls', () => {
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
    ['a safe one', setting('net.ipv4.tcp_syncookies'), 'admitted'],
    ['with slashes', setting('net/ipv4/tcp_syncookies'), 'admitted'],
    ['one of an allowed group', setting('kernel.msgmax'), 'admitted'],
    ['one that is not allowed', setting('kernel.sem'), forbidden('"kernel.sem" not allowlisted')],
    ['the machine’s own', setting('vm.swappiness'), forbidden('"vm.swappiness" not allowlisted')],
    [
      'the host’s network',
      setting('net.core.somaxconn', { hostNetwork: true }),
      forbidden('"net.core.somaxconn" not allowed with host Net enabled'),
    ],
    [
      'the host’s IPC',
      setting('net.core.somaxconn', { hostIPC: true }),
      forbidden('"kernel.shm_rmid_forced" not allowed with host IPC enabled'),
    ],
  ])('%s', (_name, one, expected) => {
    expect(verdict(one)).toBe(expected);
  });
});

test('the first refusal in the order of the handlers counts', () => {
  const everything = asking(
    { cpu: '9' },
    { spec: { os: { name: 'windows' }, nodeName: 'node1', nodeSelector: { zone: 'b' } } },
  );
  expect(verdict(everything)).toMatch(/^PodOSNotSupported/);
  const spec = { ...everything.spec, os: { name: 'linux' } };
  expect(verdict({ ...everything, spec })).toMatch(/^OutOfcpu/);
  expect(verdict({ ...everything, spec: { ...spec, containers: [] } })).toBe(WRONG_NODE);
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
    ['ends nobody when there is room', critical({ cpu: '100m' }), 'admitted'],
    ['ends the one that comes closest', critical({ cpu: '500m' }), 'after small'],
    ['ends a larger one rather than two', critical({ cpu: '800m' }), 'after large'],
    ['ends guaranteed pods only for what the others can not give', critical({ cpu: '1400m' }), 'after large equal'],
    ['is refused for anything but resources', critical({ cpu: '800m' }, { nodeSelector: { zone: 'b' } }), WRONG_NODE],
    [
      'is refused when all of them are not enough',
      critical({ cpu: '3' }),
      'UnexpectedAdmissionError: Unexpected error while attempting to recover from admission failure: preemption: error ' +
        'finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 2900), ]',
    ],
  ])('%s', (_name, one, expected) => {
    expect(verdict(one, [idle, small, large, equal], room)).toBe(expected);
  });

  test('takes the place of one that holds nothing when there are too many', () => {
    expect(verdict(critical({}), [small, idle, large])).toBe('after idle');
  });

  test('ends no pod that is as important', () => {
    const important = neighbour('important', asking({ cpu: '2' }, { spec: { priority: 2_000_001_000 } }));
    expect(verdict(critical({ cpu: '1' }), [important])).toMatch(/^UnexpectedAdmissionError/);
    const more = asking({ cpu: '1' }, { spec: { priority: 2_000_002_000 } });
    expect(verdict(more, [important])).toBe('after important');
  });

  test('ends no pod that nobody knows', () => {
    expect(verdict(critical({ cpu: '1' }), [{ ...large, pod: undefined }, equal, small])).toBe('after small equal');
  });
});
