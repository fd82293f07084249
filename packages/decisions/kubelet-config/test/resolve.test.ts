import { describe, expect, test } from '@jest/globals';
import { type KubeletSettings, parseCommandLine, resolve } from '../src/index.ts';

const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

interface Given {
  readonly args?: readonly string[];
  readonly file?: string;
  readonly dropIns?: readonly string[];
  readonly machine?: { readonly cgroupVersion: 1 | 2; readonly swap: boolean; readonly kernel: string };
}

function settings({
  args = [],
  file,
  dropIns = [],
  machine = { cgroupVersion: 2, swap: false, kernel: '6.12.0' },
}: Given): KubeletSettings {
  return resolve({
    commandLine: parseCommandLine(args),
    file: file === undefined ? undefined : { path: '/etc/kubus/kubelet.yaml', text: head + file },
    dropIns: dropIns.map((text, index) => ({ path: `/etc/kubus/conf.d/${index}.conf`, text })),
    machine,
  });
}

const messageOf = (given: Given): string => {
  try {
    settings(given);
  } catch (error) {
    return (error as Error).message;
  }
  return 'no error';
};

test('a cgroup driver that a file or a flag names is told apart from the default', () => {
  expect(settings({ file: '' }).namesCgroupDriver).toBe(false);
  expect(settings({ file: 'cgroupDriver: cgroupfs' }).namesCgroupDriver).toBe(true);
  expect(settings({ args: ['--cgroup-driver=cgroupfs'] }).namesCgroupDriver).toBe(true);
});

describe('the merged configuration', () => {
  test('contains drop-ins over the file, and flags over both', () => {
    const { config, document } = settings({
      file: 'maxPods: 10\nsyncFrequency: 10s\nclusterDNS: [10.0.0.1, 10.0.0.2]\nkubeReserved: {cpu: 100m, memory: 1Gi}\nproviderID: a',
      dropIns: [
        `${head}maxPods: 20\nclusterDNS: [10.0.0.3]\nkubeReserved: {cpu: 200m, memory: null}\nproviderID: null`,
        `${head}maxPods: 30\nsyncFrequency: 30s`,
      ],
      args: ['--max-pods=40'],
    });
    expect(config).toMatchObject({
      maxPods: 40,
      syncFrequency: 30_000,
      clusterDNS: ['10.0.0.3'],
      kubeReserved: { cpu: '200m' },
      providerID: '',
    });
    expect(document).toMatchObject({ kind: 'KubeletConfiguration', maxPods: 40, syncFrequency: '30s' });
  });

  test('contains the feature gates of flags in addition to those of files', () => {
    const { config } = settings({
      file: 'featureGates: {MemoryQoS: true, EventedPLEG: true}',
      dropIns: [`${head}featureGates: {PodsAPI: true}`],
      args: ['--feature-gates=EventedPLEG=false'],
    });
    expect(config.featureGates).toEqual({ MemoryQoS: true, EventedPLEG: false, PodsAPI: true });
  });

  test('has other defaults without a file, from the time when there were only flags', () => {
    expect(settings({}).config).toMatchObject({
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      readOnlyPort: 10_255,
      evictionHard: {},
    });
    expect(settings({ file: '' }).config).toMatchObject({
      authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
      authorization: { mode: 'Webhook' },
      readOnlyPort: 0,
      evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' },
    });
  });

  test.each<[what: string, file: string, value: object]>([
    [
      'has the default for zero where the reference has no pointer',
      'maxPods: 0\nsyncFrequency: 0s',
      { maxPods: 110, syncFrequency: 60_000 },
    ],
    [
      'keeps zero where the reference has a pointer',
      'registryPullQPS: 0\nhealthzPort: 0',
      { registryPullQPS: 0, healthzPort: 0 },
    ],
    ['has the default for null', 'registryPullQPS: null\nauthentication: null', { registryPullQPS: 5 }],
    [
      'has the frequency of status updates for reports too',
      'nodeStatusUpdateFrequency: 20s',
      { nodeStatusReportFrequency: 20_000 },
    ],
    [
      'has no serialized pulls when parallel pulls are configured',
      'maxParallelImagePulls: 3',
      { serializeImagePulls: false },
    ],
    ['has serialized pulls with at most one pull at a time', 'maxParallelImagePulls: 1', { serializeImagePulls: true }],
    [
      'has the configured thresholds instead of the defaults',
      'evictionHard: {memory.available: 1Gi}',
      { evictionHard: { 'memory.available': '1Gi' } },
    ],
    [
      'or merged with the defaults',
      'mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 1Gi}',
      { evictionHard: expect.objectContaining({ 'memory.available': '1Gi', 'nodefs.available': '10%' }) },
    ],
    [
      'resolves paths relative to the file',
      'staticPodPath: ../manifests\nresolvConf: ./resolv.conf',
      { staticPodPath: '/etc/manifests', resolvConf: '/etc/kubus/resolv.conf' },
    ],
    ['keeps an empty path', 'resolvConf: ""', { resolvConf: '' }],
    ['has no process limit when it is negative', 'podPidsLimit: -7', { podPidsLimit: -1 }],
    ['accepts JSON', '', { maxPods: 110 }],
  ])('%s', (_what, file, value) => {
    expect(settings({ file }).config).toMatchObject(value);
  });

  test('contains no secrets in the shown document', () => {
    const { config, document } = settings({ file: 'staticPodURLHeader: {Authorization: [secret]}' });
    expect(config.staticPodURLHeader).toEqual({ Authorization: ['secret'] });
    expect(document['staticPodURLHeader']).toEqual({ Authorization: ['<masked>'] });
    expect(document).toMatchObject({
      tlsCertFile: '/var/lib/kubelet/pki/kubelet.crt',
      tlsPrivateKeyFile: '/var/lib/kubelet/pki/kubelet.key',
    });
  });

  test('comes with notes about settings without effect and about deprecated flags', () => {
    const { notes } = settings({
      file: 'iptablesDropBit: 14\nhairpinMode: promiscuous-bridge\nfeatureGates: {PodsAPI: true, MemoryQoS: true, NodeSwap: true}',
      args: ['--max-pods=3', '--v=2', '--experimental-mounter-path=/m'],
    });
    expect(notes.map(({ setting, text }) => `${setting} ${text}`)).toEqual([
      '--experimental-mounter-path has no effect yet',
      '--max-pods is deprecated: set maxPods in the --config file',
      'featureGates.PodsAPI has no effect: features cannot be enabled or disabled',
      'featureGates.NodeSwap is GA and will be removed',
      'iptablesDropBit has no effect yet',
    ]);
  });
});

const inFile = 'failed to load kubelet config file, path: /etc/kubus/kubelet.yaml, error: ';
const inDropIn =
  'failed to merge kubelet configs: failed to load kubelet dropin file, path: /etc/kubus/conf.d/0.conf, error: ';
const invalid = 'failed to validate kubelet configuration, error: ';

describe('a refused configuration', () => {
  test.each<[Given, string]>([
    [
      { file: 'maxPod: 1\nauthentication: {x: 1}' },
      `${inFile}strict decoding error: unknown field "maxPod", unknown field "authentication.x"`,
    ],
    [
      { file: 'registerWithTaints: [{key: a, effekt: b}]' },
      `${inFile}strict decoding error: unknown field "registerWithTaints[0].effekt"`,
    ],
    [
      { file: 'maxPods: many' },
      `${inFile}json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32`,
    ],
    [
      { file: 'maxPods: 3000000000' },
      `${inFile}json: cannot unmarshal number 3000000000 into Go struct field KubeletConfiguration.maxPods of type int32`,
    ],
    [
      { file: 'authentication: true' },
      `${inFile}json: cannot unmarshal bool into Go struct field KubeletConfiguration.authentication of type object`,
    ],
    [
      { file: 'syncFrequency: 5' },
      `${inFile}json: cannot unmarshal number into Go struct field KubeletConfiguration.syncFrequency of type string`,
    ],
    [
      { file: 'syncFrequency: 5x' },
      `${inFile}KubeletConfiguration.syncFrequency: time: unknown unit "x" in duration "5x"`,
    ],
    [
      { file: 'containerLogMaxSize: big' },
      `${inFile}KubeletConfiguration.containerLogMaxSize: "big" is not a quantity`,
    ],
    [{ file: 'maxPods: 1\nmaxPods: 2' }, `${inFile}line 4: Map keys must be unique (column 1)`],
    [{ dropIns: ['maxPods: 1'] }, `${inDropIn}Object 'Kind' is missing`],
    [{ dropIns: ['kind: KubeletConfiguration'] }, `${inDropIn}Object 'apiVersion' is missing`],
    [
      { dropIns: ['kind: Pod\napiVersion: v1'] },
      `${inDropIn}no kind "Pod" is registered for version "v1": it must be a KubeletConfiguration of kubelet.config.k8s.io/v1beta1`,
    ],
    [{ dropIns: [''] }, `${inDropIn}kubelet config file "/etc/kubus/conf.d/0.conf" was empty`],
    [{ dropIns: [`${head}maxPod: 1`] }, `${inDropIn}strict decoding error: unknown field "maxPod"`],
    [
      { args: ['--feature-gates=Nonsense=true'] },
      'failed to set feature gates from initial flags-based config: unrecognized feature gate: Nonsense',
    ],
    [
      { file: 'featureGates: {NodeSwap: false}' },
      'failed to set feature gates from initial flags-based config: cannot set feature gate NodeSwap to false, feature is locked to true',
    ],
    [
      { args: ['--node-labels=kubernetes.io/x=1'] },
      "failed to validate kubelet flags: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [kubernetes.io/x]",
    ],
    [
      { args: ['--runonce'] },
      `${invalid}invalid configuration: runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set`,
    ],
    [
      { file: 'cpuManagerPolicy: dynamic' },
      `${invalid}invalid configuration: cpuManagerPolicy (--cpu-manager-policy): unknown policy: "dynamic"`,
    ],
    [
      { file: 'imageServiceEndpoint: unix:///run/other.sock' },
      `${invalid}imageServiceEndpoint "unix:///run/other.sock" is not supported: images would be pulled to a place where the pods’ runtime cannot find them`,
    ],
    [
      { file: '', machine: { cgroupVersion: 2, swap: true, kernel: '6.12.0' } },
      `${invalid}running with swap on is not supported, please disable swap or set --fail-swap-on flag to false`,
    ],
    [
      { file: 'failSwapOn: false', machine: { cgroupVersion: 1, swap: true, kernel: '6.12.0' } },
      `${invalid}kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release (set failCgroupV1 to false)`,
    ],
    [
      { file: 'maxPods: -1\nport: 70000' },
      `${invalid}[invalid configuration: maxPods (--max-pods) -1 must not be a negative number, invalid configuration: port (--port) 70000 must be between 1 and 65535, inclusive]`,
    ],
  ])('of %j causes the reference’s error', (given, message) => {
    expect(messageOf(given)).toBe(message);
  });

  test('is not one with the runtime itself as the image service, or with permitted node labels', () => {
    const file = 'imageServiceEndpoint: unix:///run/containerd/containerd.sock';
    expect(
      messageOf({ file, args: ['--node-labels=node.kubernetes.io/x=1,example.com/y=z,topology.kubernetes.io/zone=a'] }),
    ).toBe('no error');
  });

  test.each([
    ['nodeLeaseDurationSeconds: -1', 'nodeLeaseDurationSeconds must be greater than 0'],
    [
      'systemCgroups: /x',
      'systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified',
    ],
    ['healthzPort: 70000', 'healthzPort (--healthz-port) 70000 must be between 1 and 65535, inclusive'],
    ['cpuCFSQuotaPeriod: 2s', 'cpuCFSQuotaPeriod (--cpu-cfs-quota-period) 2s must be between 1ms and 1sec, inclusive'],
    [
      'evictionSoft: {memory.available: 1Gi}',
      'grace period must be specified for the soft eviction threshold memory.available',
    ],
    [
      'imageGCLowThresholdPercent: 90',
      'imageGCLowThresholdPercent (--image-gc-low-threshold) 90 must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) 85',
    ],
    ['imageMaximumGCAge: 1m', 'imageMaximumGCAge 1m0s must be greater than imageMinimumGCAge 2m0s'],
    ['maxParallelImagePulls: 0', 'maxParallelImagePulls 0 must be a positive number'],
    [
      'serializeImagePulls: true\nmaxParallelImagePulls: 2',
      'maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false',
    ],
    [
      'topologyManagerScope: node',
      'topologyManagerScope (--topology-manager-scope) "node" must be one of: "container", or "pod"',
    ],
    [
      'topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {closest: "true"}',
      'unknown Topology Manager Policy option: "closest"',
    ],
    [
      'topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {prefer-closest-numa-nodes: "maybe"}',
      'bad value for option "prefer-closest-numa-nodes": strconv.ParseBool: parsing "maybe": invalid syntax',
    ],
    [
      'topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {max-allowable-numa-nodes: "many"}',
      'unable to convert policy option to integer "max-allowable-numa-nodes": strconv.Atoi: parsing "many": invalid syntax',
    ],
    [
      'topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {max-allowable-numa-nodes: "4"}',
      'the minimum value of "max-allowable-numa-nodes" should not be less than 8',
    ],
    ['shutdownGracePeriod: 500ms', 'shutdownGracePeriod 500ms must be either zero or otherwise >= 1 sec'],
    [
      'shutdownGracePeriod: 10s\nshutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 5}]',
      'Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time',
    ],
    [
      'memorySwap: {swapBehavior: Some}',
      'memorySwap.swapBehavior "Some" must be one of: "", "LimitedSwap" or "NoSwap"',
    ],
    [
      'crashLoopBackOff: {maxContainerRestartPeriod: 10m}',
      'CrashLoopBackOff.MaxContainerRestartPeriod (got: 600 seconds) must be set between 1s and 300s',
    ],
    [
      'enforceNodeAllocatable: [pods, none]',
      'enforceNodeAllocatable (--enforce-node-allocatable) may not contain additional enforcements when "none" is specified',
    ],
    [
      'enforceNodeAllocatable: [system-reserved]',
      'systemReservedCgroup (--system-reserved-cgroup) must be specified when "system-reserved" or "system-reserved-compressible" included in enforceNodeAllocatable (--enforce-node-allocatable)',
    ],
    [
      'enforceNodeAllocatable: [pods, pods]',
      'duplicated enforcements "pods" in enforceNodeAllocatable (--enforce-node-allocatable)',
    ],
    [
      'cgroupsPerQOS: false',
      'cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained in enforceNodeAllocatable (--enforce-node-allocatable)',
    ],
    [
      'memoryReservationPolicy: TieredReservation',
      'memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled',
    ],
    ['qosReserved: {cpu: 50%}', 'cannot reserve "cpu" resource'],
    [
      'qosReserved: {memory: "50"}',
      'failed to parse percentage "50" for "memory" resource: percentage expected, got \'50\'',
    ],
    [
      'qosReserved: {memory: half%}',
      'failed to parse percentage "half%" for "memory" resource: invalid number in percentage \'half%\'',
    ],
    [
      'qosReserved: {memory: 101%}',
      'failed to parse percentage "101%" for "memory" resource: percentage must be between 0 and 100',
    ],
    ['kubeReserved: {gpu: "1"}', 'cannot reserve "gpu" resource in kubeReserved'],
    [
      'hairpinMode: maybe',
      'option "maybe" specified for hairpinMode (--hairpin-mode). Valid options are "none", "hairpin-veth" or "promiscuous-bridge"',
    ],
    [
      'preloadedImagesVerificationAllowlist: [a]',
      'can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"',
    ],
    ['memoryThrottlingFactor: 1.5', 'memoryThrottlingFactor 1.5 must be greater than 0 and less than or equal to 1.0'],
    ['containerLogMaxWorkers: 0', 'containerLogMaxWorkers must be greater than or equal to 1'],
    [
      'containerLogMonitorInterval: 2s',
      'containerLogMonitorInterval must be a positive time duration greater than or equal to 3s',
    ],
    ['containerLogMaxFiles: 1', 'containerLogMaxFiles must be greater than 1'],
    ['podLogsDir: /var/log/', 'pod logs path "/var/log/" must be normalized'],
    ['logging: {format: xml}', 'logging.format: Invalid value: "xml": Unsupported log format'],
    ['userNamespaces: {idsPerPod: 100000}', 'userNamespaces.idsPerPod must be a multiple of 65536'],
    [
      'reservedMemory: [{numaNode: 0, limits: {cpu: 1}}]',
      'the limit type "cpu" for NUMA node 0 is not supported, only [memory hugepages-<HugePageSize>] is accepted',
    ],
  ])('with the value of %s causes the reference’s error', (file, problem) => {
    expect(messageOf({ file })).toContain(`invalid configuration: ${problem}`);
  });
});
