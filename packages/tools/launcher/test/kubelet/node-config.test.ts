import { describe, expect, test } from '@jest/globals';
import { type KubeletSettings, parseCommandLine, resolve } from '@kubus/kubelet-config';
import { kubeletDir } from '../../src/kubelet/kubelet-dir.ts';
import { nodeConfigOf, nodeName, socketOf } from '../../src/kubelet/node-config.ts';

const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

function settings(file: string, ...args: string[]): KubeletSettings {
  const commandLine = parseCommandLine(args);
  const machine = { cgroupVersion: 2, swap: false, kernel: '6.12.0' } as const;
  return resolve({ commandLine, file: { path: '/etc/kubelet.yaml', text: head + file }, dropIns: [], machine });
}

const parts = {
  dir: kubeletDir('node', '/var/lib/kubelet', '/run/kubus'),
  nats: { url: 'nats://127.0.0.1:4000' },
  relay: '/relay',
  streamRelay: '/stream-relay',
  mountHelper: '/mount-helper',
  memoryWatch: '/memory-watch',
  mallocTrim: '/malloc-trim',
  runtime: '/run/containerd/containerd.sock',
  handler: undefined,
  cgroupDriver: 'systemd',
  accountsForSwap: true,
  agentCgroup: '/system.slice/kubelet.service',
  startedAtMs: 1000,
  nodeIps: ['10.0.0.1'],
  cpus: 2,
  configz: '/configz.json',
  flagz: '/flagz.json',
} as const;

const configOf = (file: string, ...args: string[]) => nodeConfigOf(settings(file, ...args), parts);

describe('the configuration of the services', () => {
  test('has the defaults of the reference', () => {
    const config = configOf('');
    expect(config).toMatchObject({
      node: 'node',
      logLevel: 'info',
      state: '/var/lib/kubelet/kubus/state',
      runtime: { socket: '/run/containerd/containerd.sock', cgroupRoot: '/' },
      network: {
        configDir: '/var/lib/kubelet/kubus/nothing',
        pluginDirs: ['/opt/cni/bin', '/usr/lib/cni'],
        podCidrs: [],
      },
      pods: {
        root: '/var/lib/kubelet',
        devicePlugins: '/var/lib/kubelet/device-plugins',
        projectQuotas: false,
        logs: '/var/log/pods',
        logLinks: '/var/log/containers',
        max: 110,
        cgroupDriver: 'systemd',
      },
      images: { pullQps: 5, serialize: true, gc: { highPercent: 85, lowPercent: 80 } },
      logs: { maxSize: 10 * 1024 * 1024, maxFiles: 5 },
      dns: { servers: [], domain: '', resolvConf: '/etc/resolv.conf' },
      reserved: { evictionHard: { 'memory.available': '100Mi' } },
      eviction: { hard: { 'memory.available': '100Mi' }, ofAllocatable: true, transitionMs: 300_000 },
    });
    for (const part of ['apiServer', 'objects', 'manifests', 'manifestUrl']) expect(config).not.toHaveProperty(part);
    expect(config.server).not.toHaveProperty('port');
    expect(config.pods.pidsLimit).toBeUndefined();
    expect([config.pods.swapBehavior, config.pods.memoryQos]).toEqual(['NoSwap', undefined]);
    expect(config.reserved.qosMemoryPercent).toBeUndefined();
  });

  test.each<[file: string, args: string[], expected: object]>([
    [
      'staticPodPath: /etc/kubernetes/manifests\nfileCheckFrequency: 5s',
      [],
      { manifests: { path: '/etc/kubernetes/manifests', checkEveryMs: 5_000 } },
    ],
    [
      'staticPodURL: http://h/p\nhttpCheckFrequency: 7s\nstaticPodURLHeader: {a: [b, c]}',
      [],
      { manifestUrl: { url: 'http://h/p', headers: { a: ['b', 'c'] }, checkEveryMs: 7_000 } },
    ],
    ['maxPods: 50\npodsPerCore: 10', [], { pods: { max: 20 } }],
    ['podPidsLimit: 100\nallowedUnsafeSysctls: [net.x]', [], { pods: { pidsLimit: 100, unsafeSysctls: ['net.x'] } }],
    ['seccompDefault: true', [], { pods: { seccompDefault: true } }],
    ['', ['--seccomp-default'], { pods: { seccompDefault: true } }],
    ['kernelMemcgNotification: true', [], { eviction: { memoryWatch: '/memory-watch' } }],
    ['podLogsDir: /logs/of/pods', [], { pods: { logs: '/logs/of/pods', logLinks: '/var/log/containers' } }],
    [
      '',
      [
        '--maximum-dead-containers=9',
        '--maximum-dead-containers-per-container=2',
        '--minimum-container-ttl-duration=1m',
      ],
      { pods: { deadContainers: { perContainer: 2, total: 9, minAgeMs: 60_000 } } },
    ],
    [
      'cgroupRoot: /mine\npodCIDR: 10.1.0.0/16,fd00::/64',
      [],
      { runtime: { cgroupRoot: '/mine' }, network: { podCidrs: ['10.1.0.0/16', 'fd00::/64'] } },
    ],
    ['logging: {verbosity: 4}', [], { logLevel: 'debug' }],
    [
      '',
      ['--node-labels=a=b', '--register-with-taints=c:NoExecute'],
      { labels: { a: 'b' }, taints: [{ key: 'c', effect: 'NoExecute' }] },
    ],
    [
      'systemReserved: {cpu: 100m}\nkubeReserved: {memory: 1Gi}',
      [],
      { reserved: { system: { cpu: '100m' }, kube: { memory: '1Gi' } } },
    ],
    [
      'enforceNodeAllocatable: [pods, kube-reserved]\nkubeReservedCgroup: /kube.slice',
      [],
      { reserved: { enforce: ['pods', 'kube-reserved'], kubeCgroup: '/kube.slice' } },
    ],
    ['enforceNodeAllocatable: [none]', [], { reserved: { enforce: [] } }],
    [
      'cpuCFSQuota: false\ncpuCFSQuotaPeriod: 10ms\nsingleProcessOOMKill: true\nfeatureGates: {CustomCPUCFSQuotaPeriod: true}',
      [],
      { pods: { cpuQuota: false, cpuPeriodUs: 10_000, singleProcessOomKill: true } },
    ],
    [
      '',
      ['--experimental-allocatable-ignore-eviction'],
      { reserved: { evictionHard: {} }, eviction: { hard: { 'memory.available': '100Mi' }, ofAllocatable: false } },
    ],
    [
      'evictionHard: {nodefs.available: 5%}\nevictionSoft: {pid.available: "100"}\nevictionSoftGracePeriod: {pid.available: 1m}\nevictionPressureTransitionPeriod: 30s\nevictionMaxPodGracePeriod: 60\nlocalStorageCapacityIsolation: false',
      ['--eviction-minimum-reclaim=nodefs.available=1Gi'],
      {
        eviction: {
          ...{ hard: { 'nodefs.available': '5%' }, soft: { 'pid.available': '100' } },
          ...{ softGracePeriod: { 'pid.available': '1m' }, minimumReclaim: { 'nodefs.available': '1Gi' } },
          ...{ transitionMs: 30_000, maxPodGraceSeconds: 60, storageLimits: false },
        },
      },
    ],
    [
      'maxParallelImagePulls: 3\nregistryPullQPS: 0\nregistryBurst: 1',
      [],
      { images: { maxParallel: 3, serialize: false, pullQps: 0, pullBurst: 1 } },
    ],
    [
      '',
      ['--image-credential-provider-config=/c', '--image-credential-provider-bin-dir=/b'],
      { images: { providers: { config: '/c', binDir: '/b' } } },
    ],
    ['containerLogMaxSize: 1.5Mi\ncontainerLogMaxFiles: 3', [], { logs: { maxSize: 1_572_864, maxFiles: 3 } }],
    [
      'topologyManagerPolicy: restricted',
      ['--topology-manager-policy-options=prefer-closest-numa-nodes=true,max-allowable-numa-nodes=16'],
      { devices: { topologyPolicy: 'restricted', preferClosestNodes: true, mostNodes: 16 } },
    ],
    [
      'cpuManagerPolicy: static\nreservedSystemCPUs: 0,2-3\nkubeReserved: {cpu: 500m, memory: 1Gi}\ncpuManagerReconcilePeriod: 4s',
      ['--cpu-manager-policy-options=full-pcpus-only=true', '--feature-gates=DisableCPUQuotaWithExclusiveCPUs=false'],
      {
        exclusive: {
          ...{ cpuPolicy: 'static', cpuOptions: { 'full-pcpus-only': 'true' }, gates: { alpha: false, beta: true } },
          ...{ withoutQuota: false, reconcileMs: 4_000, reservedCpus: '0,2-3', memoryPolicy: 'None' },
        },
        // The named CPUs count instead of an amount.
        reserved: { system: { cpu: '3' }, kube: { memory: '1Gi' } },
      },
    ],
    [
      'memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 1, limits: {memory: 1Gi}}]',
      [],
      { exclusive: { memoryPolicy: 'Static', reservedMemory: [{ numaNode: 1, limits: { memory: 1_073_741_824 } }] } },
    ],
    ['featureGates: {PodLevelResourceManagers: true}', [], { exclusive: { podLevel: true } }],
    [
      'featureGates: {PodLevelResourceManagers: true, PodLevelResources: false}',
      [],
      { exclusive: { podLevel: false } },
    ],
    ['userNamespaces: {idsPerPod: 131072}', [], { userNamespaces: { idsPerPod: 131_072 } }],
    [
      'clusterDNS: [10.96.0.10]\nclusterDomain: cluster.local\nresolvConf: ""',
      [],
      { dns: { servers: ['10.96.0.10'], domain: 'cluster.local', resolvConf: '' } },
    ],
    ['memorySwap: {swapBehavior: LimitedSwap}', [], { pods: { swapBehavior: 'LimitedSwap' } }],
    [
      'featureGates: {MemoryQoS: true}\nmemoryReservationPolicy: TieredReservation\nmemoryThrottlingFactor: 0.8',
      [],
      { pods: { memoryQos: { throttlingFactor: 0.8, reservation: 'TieredReservation' } } },
    ],
    ['featureGates: {LocalStorageCapacityIsolationFSQuotaMonitoring: true}', [], { pods: { projectQuotas: true } }],
    ['featureGates: {QOSReserved: true}', ['--qos-reserved=memory=50%'], { reserved: { qosMemoryPercent: 50 } }],
    [
      'systemCgroups: /system\ncgroupRoot: /',
      ['--runtime-cgroups=/runtime'],
      {
        systemCgroups: {
          kubelet: '/system.slice/kubelet.service',
          kubeletStartedAtMs: 1000,
          runtime: '/runtime',
          misc: '/system',
        },
      },
    ],
    ['eventRecordQPS: 0\neventBurst: 7', [], { events: { qps: 0, burst: 7 } }],
  ])('of file %j and flags %j is %j', (file, args, expected) => {
    expect(configOf(file, ...args)).toMatchObject(expected);
  });

  test('gives pods no swap where the kernel cannot limit it', () => {
    const given = settings('memorySwap: {swapBehavior: LimitedSwap}');
    expect(nodeConfigOf(given, { ...parts, accountsForSwap: false }).pods.swapBehavior).toBe('NoSwap');
  });

  test('makes a node with a kubeconfig a member of its cluster', () => {
    const config = configOf(
      'authentication: {x509: {clientCAFile: ca.crt}}\ntlsCertFile: /c\ntlsPrivateKeyFile: /k\nrotateCertificates: true\nkubeAPIQPS: 0',
      '--kubeconfig=/etc/kubernetes/kubelet.conf',
      '--bootstrap-kubeconfig=/etc/kubernetes/bootstrap.conf',
      '--cloud-provider=external',
      '--hostname-override=n1',
    );
    expect(config).toMatchObject({
      apiServer: {
        kubeconfig: '/etc/kubernetes/kubelet.conf',
        bootstrap: { kubeconfig: '/etc/kubernetes/bootstrap.conf' },
        certDir: '/var/lib/kubelet/pki',
        rotate: true,
        qps: 50,
        burst: 100,
      },
      nodeObject: { externalCloud: true, hostname: 'n1', iptablesUtilChains: true, leaseSeconds: 40 },
      objects: {},
      server: {
        address: '0.0.0.0',
        port: 10_250,
        healthz: { address: '127.0.0.1', port: 10_248 },
        tls: { certFile: '/c', keyFile: '/k' },
        authentication: { clientCaFile: '/etc/ca.crt', webhook: true, anonymous: false },
        authorization: { mode: 'Webhook' },
        configz: '/configz.json',
        flagz: '/flagz.json',
      },
    });
    expect(configOf('enableServer: false', '--kubeconfig=/k').server?.port).toBeUndefined();
  });

  test('has an HTTPS API without a cluster if no access review is needed', () => {
    const open = 'authentication: {webhook: {enabled: false}}\nauthorization: {mode: AlwaysAllow}\n';
    expect(configOf(open)).toMatchObject({
      server: {
        port: 10_250,
        authentication: { webhook: false, anonymous: false },
        authorization: { mode: 'AlwaysAllow' },
      },
    });
    for (const closed of [
      `${open}enableServer: false`,
      'authorization: {mode: AlwaysAllow}',
      'authentication: {webhook: {enabled: false}}',
    ]) {
      const { server } = configOf(closed);
      expect(server?.port).toBeUndefined();
      expect(server?.socket).toMatch(/\/api\.sock$/);
    }
  });

  test('lets cni-bridge run the networks of the machine if the runtime has the Kubus handler', () => {
    const given = settings('', '--cni-conf-dir=/networks', '--cni-bin-dir=/plugins');
    expect(nodeConfigOf(given, { ...parts, handler: 'kubus' })).toMatchObject({
      runtime: { handler: 'kubus' },
      network: { configDir: '/networks', pluginDirs: ['/plugins'] },
    });
  });
});

test.each([
  [[], 'Machine-1', 'machine-1'],
  [['--hostname-override= Other.Name '], 'machine', 'other.name'],
])('a node with %j on host %s is named %s', (args, hostname, name) => {
  expect(nodeName(settings('', ...args).flags, hostname)).toBe(name);
});

test('an invalid node name is refused with its origin', () => {
  expect(() => nodeName(settings('').flags, 'a_b')).toThrow('the machine’s host name "a_b"');
  expect(() => nodeName(settings('', '--hostname-override=-x').flags, 'a')).toThrow('--hostname-override "-x"');
});

test.each([
  ['unix:///run/x.sock', '/run/x.sock'],
  ['unix:/run/x.sock', '/run/x.sock'],
  ['/run/x.sock', '/run/x.sock'],
])('%s is the socket %s', (endpoint, path) => {
  expect(socketOf(endpoint)).toBe(path);
});

test.each(['tcp://127.0.0.1:1', 'npipe:////./pipe/x', 'unix://run/x.sock'])('%s is not a socket', (endpoint) => {
  expect(() => socketOf(endpoint)).toThrow(`containerRuntimeEndpoint (--container-runtime-endpoint) "${endpoint}"`);
});
