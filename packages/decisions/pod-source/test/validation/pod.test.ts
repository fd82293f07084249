import { describe, expect, test } from '@jest/globals';
import { dnsLabelRule, dnsSubdomainRule, errorsOf, labelValueRule, nameRule } from './errors-of.ts';

type Row = readonly [title: string, part: object, errors: readonly string[]];

describe('validation of metadata', () => {
  test.each<Row>([
    ['a missing name', { name: '' }, ['metadata.name: Required value: name or generateName is required']],
    ['an invalid name', { name: 'A' }, [`metadata.name: Invalid value: "A-n1": ${dnsSubdomainRule}`]],
    [
      'a name that makes the folder of its logs too long',
      { name: 'a'.repeat(215) },
      ['metadata.name: Too long: may not be more than 214 bytes'],
    ],
    ['an invalid namespace', { namespace: 'a.b' }, [`metadata.namespace: Invalid value: "a.b": ${dnsLabelRule}`]],
    [
      'labels',
      { labels: { 'a b': 'x', c: 'y z', '/d': '' } },
      [
        `metadata.labels: Invalid value: "a b": ${nameRule}`,
        `metadata.labels: Invalid value: "y z": ${labelValueRule}`,
        'metadata.labels: Invalid value: "/d": prefix part must be non-empty',
      ],
    ],
    [
      'annotations',
      { annotations: { 'A.io/B': 'any thing', 'a/': '' } },
      [
        'metadata.annotations: Invalid value: "a/": name part must be non-empty',
        `metadata.annotations: Invalid value: "a/": ${nameRule}`,
      ],
    ],
    [
      'annotations that are too long',
      { annotations: { a: 'x'.repeat(262144) } },
      ['metadata.annotations: Too long: may not be more than 262144 bytes'],
    ],
    [
      'owners',
      {
        ownerReferences: [
          { apiVersion: 'v1', kind: 'A', name: 'a', uid: 'u', controller: true },
          { kind: 'B', name: 'b', controller: true },
        ],
      },
      [
        'metadata.ownerReferences[1].apiVersion: Invalid value: "": version must not be empty',
        'metadata.ownerReferences[1].uid: Invalid value: "": must not be empty',
        'metadata.ownerReferences: Invalid value: "A/a and B/b": only one reference can have controller set to true',
      ],
    ],
    ['finalizers', { finalizers: ['a b'] }, [`metadata.finalizers[0]: Invalid value: "a b": ${nameRule}`]],
  ])('reports the errors of %s', (_, metadata, errors) => expect(errorsOf({ metadata })).toEqual(errors));
});

describe('validation of the whole pod', () => {
  test.each<Row>([
    [
      'restart policy',
      { restartPolicy: 'Once' },
      ['spec.restartPolicy: Unsupported value: "Once": supported values: "Always", "OnFailure", "Never"'],
    ],
    [
      'deadline',
      { activeDeadlineSeconds: 0 },
      ['spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive'],
    ],
    [
      'classes',
      { priorityClassName: 'A', runtimeClassName: 'B' },
      [
        `spec.priorityClassName: Invalid value: "A": ${dnsSubdomainRule}`,
        `spec.runtimeClassName: Invalid value: "B": ${dnsSubdomainRule}`,
      ],
    ],
    [
      'preemption',
      { preemptionPolicy: 'Maybe' },
      ['spec.preemptionPolicy: Unsupported value: "Maybe": supported values: "PreemptLowerPriority", "Never"'],
    ],
    [
      'readiness gates',
      { readinessGates: [{ conditionType: 'a b' }] },
      [`spec.readinessGates[0].conditionType: Invalid value: "a b": ${nameRule}`],
    ],
    [
      'operating system',
      { os: { name: 'plan9' } },
      ['spec.os.name: Unsupported value: "plan9": supported values: "linux", "windows"'],
    ],
    [
      'several parts at once',
      { restartPolicy: 'X', dnsPolicy: 'Y', hostname: 'Z' },
      [
        'spec.dnsPolicy: Unsupported value: "Y": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
        `spec.hostname: Invalid value: "Z": ${dnsLabelRule}`,
        'spec.restartPolicy: Unsupported value: "X": supported values: "Always", "OnFailure", "Never"',
      ],
    ],
  ])('reports the errors of %s', (_, spec, errors) => expect(errorsOf({ spec })).toEqual(errors));
});

describe('validation of names and name resolution', () => {
  const IP = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
  test.each<Row>([
    [
      'a missing DNS config',
      { dnsPolicy: 'None' },
      ['spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None'],
    ],
    [
      'missing nameservers',
      { dnsPolicy: 'None', dnsConfig: {} },
      ['spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None'],
    ],
    [
      'servers',
      { dnsConfig: { nameservers: ['1.2.3.4', '::1', '1.2.3', '2001:db8::1::2'] } },
      [
        'spec.dnsConfig.nameservers: Invalid value: ["1.2.3.4","::1","1.2.3","2001:db8::1::2"]: must not have more than 3 nameservers',
        `spec.dnsConfig.nameservers[2]: Invalid value: "1.2.3": ${IP}`,
        `spec.dnsConfig.nameservers[3]: Invalid value: "2001:db8::1::2": ${IP}`,
      ],
    ],
    [
      'searches',
      { dnsConfig: { searches: ['.', 'a_b.example.', 'ok'], options: [{ value: 'x' }] } },
      ['spec.dnsConfig.options[0]: Required value: must not be empty'],
    ],
    [
      'too many search domains',
      { dnsConfig: { searches: Array.from({ length: 33 }, () => 'a') } },
      [
        `spec.dnsConfig.searches: Invalid value: ${JSON.stringify(Array.from({ length: 33 }, () => 'a'))}: must not have more than 32 search paths`,
      ],
    ],
    [
      'aliases',
      { hostAliases: [{ ip: 'x', hostnames: ['a_b'] }] },
      [
        `spec.hostAliases[0].ip: Invalid value: "x": ${IP}`,
        `spec.hostAliases[0].hostnames[0]: Invalid value: "a_b": ${dnsSubdomainRule}`,
      ],
    ],
    [
      'override',
      { hostnameOverride: 'a.b', hostNetwork: true, setHostnameAsFQDN: true },
      [
        'spec.hostnameOverride: Forbidden: may not be set when `setHostnameAsFQDN` is true',
        'spec.hostnameOverride: Forbidden: may not be set when `hostNetwork` is true',
      ],
    ],
  ])('reports the errors of %s', (_, spec, errors) => expect(errorsOf({ spec })).toEqual(errors));
});

describe('validation of security settings', () => {
  const at = 'spec.securityContext';
  const ctx = (securityContext: object, more: object = {}) => ({ securityContext, ...more });
  test.each<Row>([
    [
      'ids',
      ctx({ runAsUser: -1, fsGroup: 2147483648, supplementalGroups: [0, -5] }),
      [
        `${at}.fsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive`,
        `${at}.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive`,
        `${at}.supplementalGroups[1]: Invalid value: -5: must be between 0 and 2147483647, inclusive`,
      ],
    ],
    [
      'choices',
      ctx({ fsGroupChangePolicy: 'a', supplementalGroupsPolicy: 'b', seLinuxChangePolicy: 'c' }),
      [
        `${at}.fsGroupChangePolicy: Unsupported value: "a": supported values: "Always", "OnRootMismatch"`,
        `${at}.supplementalGroupsPolicy: Unsupported value: "b": supported values: "Merge", "Strict"`,
        `${at}.seLinuxChangePolicy: Unsupported value: "c": supported values: "MountOption", "Recursive"`,
      ],
    ],
    [
      'sysctls',
      ctx({ sysctls: [{ name: 'net.a', value: '1' }, { name: 'net.a', value: '1' }, { name: 'A' }, {}] }),
      [
        `${at}.sysctls[1].name: Duplicate value: "net.a"`,
        `${at}.sysctls[2].name: Invalid value: "A": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`,
        `${at}.sysctls[3].name: Required value`,
      ],
    ],
    [
      'sysctls of namespaces that are shared with the host',
      ctx(
        {
          sysctls: [
            { name: 'net/ipv4/x', value: '1' },
            { name: 'kernel.shmmax', value: '1' },
            { name: 'vm.x', value: '1' },
          ],
        },
        { hostNetwork: true, hostIPC: true },
      ),
      [
        `${at}.sysctls[0].name: Invalid value: "net/ipv4/x": may not be specified when 'hostNetwork' is true`,
        `${at}.sysctls[1].name: Invalid value: "kernel.shmmax": may not be specified when 'hostIPC' is true`,
      ],
    ],
    [
      'seccomp',
      ctx({ seccompProfile: { type: 'Localhost' } }),
      [`${at}.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost`],
    ],
    [
      'AppArmor',
      ctx({ appArmorProfile: { type: 'Strict', localhostProfile: 'x' } }),
      [
        `${at}.appArmorProfile.type: Unsupported value: "Strict": supported values: "Localhost", "RuntimeDefault", "Unconfined"`,
        `${at}.appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Localhost`,
      ],
    ],
    [
      'processes',
      { shareProcessNamespace: true, hostPID: true },
      [`${at}.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled`],
    ],
    [
      'user namespace',
      { hostUsers: false, hostNetwork: true, hostPID: true, hostIPC: true },
      [
        'spec.hostNetwork: Forbidden: when `hostUsers` is false',
        'spec.HostPID: Forbidden: when `hostUsers` is false',
        'spec.HostIPC: Forbidden: when `hostUsers` is false',
      ],
    ],
    [
      'user namespace with a block device',
      {
        hostUsers: false,
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
        initContainers: [{ name: 'i', image: 'i', volumeDevices: [{ name: 'v', devicePath: '/d' }] }],
      },
      [
        'spec.initContainers[0].volumeDevices: Forbidden: when `hostUsers` is false',
        'spec.volumes[0].persistentVolumeClaim: Forbidden: static pods may not reference persistentvolumeclaims',
      ],
    ],
  ])('reports the errors of %s of the pod', (_, spec, errors) => expect(errorsOf({ spec })).toEqual(errors));

  const own = 'spec.containers[0].securityContext';
  test.each<Row>([
    ['ids', { runAsUser: -1 }, [`${own}.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive`]],
    [
      'proc',
      { procMount: 'Unmasked' },
      [`${own}.procMount: Invalid value: "Unmasked": \`hostUsers\` must be false to use \`Unmasked\``],
    ],
    [
      'escalation',
      { allowPrivilegeEscalation: false, privileged: true },
      [
        `${own}: Invalid value: {"privileged":true,"allowPrivilegeEscalation":false}: cannot set \`allowPrivilegeEscalation\` to false and \`privileged\` to true`,
      ],
    ],
    [
      'seccomp',
      { seccompProfile: { type: 'Localhost', localhostProfile: '../x' } },
      [`${own}.seccompProfile.localhostProfile: Invalid value: "../x": must not contain '..'`],
    ],
  ])('reports the errors of %s of a container', (_, securityContext, errors) =>
    expect(errorsOf({ container: { securityContext } })).toEqual(errors),
  );

  test('reports AppArmor annotations that are malformed or contradict the fields', () => {
    const key = (name: string) => `container.apparmor.security.beta.kubernetes.io/${name}`;
    const annotations = { [key('c')]: 'runtime/default', [key('x')]: 'bad' };
    const securityContext = { appArmorProfile: { type: 'Unconfined' } };
    expect(errorsOf({ metadata: { annotations }, container: { securityContext } })).toEqual([
      `metadata.annotations[${key('c')}]: Forbidden: apparmor profile in annotation and field must match`,
      `metadata.annotations[${key('x')}]: Invalid value: "x": container not found`,
      `metadata.annotations[${key('x')}]: Invalid value: "bad": invalid AppArmor profile name: "bad"`,
    ]);
  });
});

describe('validation of scheduling settings', () => {
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  test.each<Row>([
    [
      'tolerations',
      {
        tolerations: [
          { operator: 'Equal' },
          { key: 'a', operator: 'Exists', value: 'x' },
          { key: 'a', effect: 'Stop', tolerationSeconds: 1 },
        ],
      },
      [
        'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
        'spec.tolerations[1].operator: Invalid value: "x": value must be empty when `operator` is \'Exists\'',
        'spec.tolerations[2].effect: Invalid value: "Stop": effect must be \'NoExecute\' when `tolerationSeconds` is set',
        'spec.tolerations[2].effect: Unsupported value: "Stop": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      ],
    ],
    [
      'node affinity',
      {
        affinity: {
          nodeAffinity: {
            [required]: {
              nodeSelectorTerms: [
                {
                  matchExpressions: [
                    { key: 'a', operator: 'In' },
                    { key: 'a', operator: 'Is' },
                  ],
                  matchFields: [{ key: 'x', operator: 'In', values: ['n'] }],
                },
              ],
            },
            [preferred]: [{ weight: 0, preference: {} }],
          },
        },
      },
      [
        `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
        `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchExpressions[1].operator: Invalid value: "Is": not a valid selector operator`,
        `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchFields[0].key: Invalid value: "x": not a valid field selector key`,
        `spec.affinity.nodeAffinity.${preferred}[0].weight: Invalid value: 0: must be in the range 1-100`,
      ],
    ],
    [
      'pod affinity',
      { affinity: { podAntiAffinity: { [required]: [{ matchLabelKeys: ['a'], mismatchLabelKeys: ['a'] }] } } },
      [
        `spec.affinity.podAntiAffinity.${required}[0].topologyKey: Required value: can not be empty`,
        `spec.affinity.podAntiAffinity.${required}[0].matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys`,
      ],
    ],
    [
      'spreading',
      { topologySpreadConstraints: [{ maxSkew: 0, whenUnsatisfiable: 'X', minDomains: 1, matchLabelKeys: ['a'] }] },
      [
        'spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
        'spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty',
        'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "X": supported values: "DoNotSchedule", "ScheduleAnyway"',
        'spec.topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not X',
        'spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set',
      ],
    ],
    [
      'gates',
      { schedulingGates: [{ name: 'a' }, { name: 'a' }] },
      [
        'spec.schedulingGates[1]: Duplicate value: "a"',
        'spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared',
      ],
    ],
  ])('reports the errors of %s', (_, spec, errors) => expect(errorsOf({ spec })).toEqual(errors));
});
