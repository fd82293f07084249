import { pod } from '@kubus/pod-lifecycle/testing';
import { describe, expect, test } from '@jest/globals';
import type { Container } from '@kubus/contracts';
import { completeContainer, containerConfig, containerTemplate, sandboxConfig } from '../src/index.ts';

const settings = { attempt: 2, imageId: 'sha256:b', memoryCapacity: 8n * 1024n ** 3n };
const config = (container: Partial<Container>, spec: Parameters<typeof pod>[0] = {}) => {
  const whole = { name: 'c', image: 'busybox', ...container };
  return containerConfig(pod({ ...spec, containers: [whole] }), whole, settings);
};

describe('containerConfig', () => {
  test('equals the reference’s for a simple pod', () => {
    const made = config({ command: ['sh', '-c', 'sleep 1'] }, { terminationGracePeriodSeconds: 30 });
    expect(made).toMatchObject({
      metadata: { name: 'c', attempt: 2 },
      image: { image: 'sha256:b', userSpecifiedImage: 'busybox' },
      command: ['sh', '-c', 'sleep 1'],
      labels: {
        'io.kubernetes.container.name': 'c',
        'io.kubernetes.pod.name': 'p',
        'io.kubernetes.pod.namespace': 'default',
        'io.kubernetes.pod.uid': 'u1',
      },
      annotations: {
        'io.kubernetes.container.restartCount': '2',
        'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
        'io.kubernetes.container.terminationMessagePolicy': 'File',
        'io.kubernetes.pod.terminationGracePeriod': '30',
      },
      logPath: 'c/2.log',
      linux: {
        resources: { cpuPeriod: '100000', cpuShares: '2', oomScoreAdj: '1000' },
        securityContext: { namespaceOptions: { pid: 'CONTAINER' }, seccomp: { profileType: 'Unconfined' } },
      },
    });
  });

  test('expands references in variables to earlier ones, and in command and args to all', () => {
    const made = config({
      env: [
        { name: 'A', value: 'ä' },
        { name: 'B', value: '$(A)$(C)' },
        { name: 'C', value: 'c' },
      ],
      command: ['$(B)'],
      args: ['$(C)'],
    });
    // Values are sent as the base64 of their bytes.
    expect(made.envs).toEqual([
      { key: 'A', value: 'w6Q=' },
      { key: 'B', value: 'w6QkKEMp' },
      { key: 'C', value: 'Yw==' },
    ]);
    expect([made.command, made.args]).toEqual([['ä$(C)'], ['c']]);
  });

  test.each([
    [{ requests: { cpu: '500m', memory: '1Gi' } }, { cpuShares: '512', oomScoreAdj: '875' }],
    [{ limits: { cpu: '1500m' } }, { cpuShares: '1536', cpuQuota: '150000' }],
    [{ limits: { cpu: '1m' } }, { cpuShares: '2', cpuQuota: '1000' }],
    [{ limits: { cpu: '1', memory: '64Mi' } }, { memoryLimitInBytes: '67108864', oomScoreAdj: '-997' }],
  ])('translates the resources %j', (resources, expected) =>
    expect(config({ resources }).linux?.resources).toMatchObject(expected),
  );

  test('prefers the container’s security context to the pod’s', () => {
    const made = config(
      {
        securityContext: {
          runAsUser: 7,
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
        },
      },
      { securityContext: { runAsUser: 5, runAsGroup: 6, supplementalGroups: [8] } },
    );
    expect(made.linux?.securityContext).toMatchObject({
      runAsUser: { value: '7' },
      runAsGroup: { value: '6' },
      supplementalGroups: ['8'],
      readonlyRootfs: true,
      noNewPrivs: true,
      capabilities: { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'] },
    });
  });
});

test('the subPath of an image mount is expanded when the values are known', () => {
  const container = {
    name: 'c',
    env: [{ name: 'WHO', valueFrom: { secretKeyRef: { name: 's', key: 'who' } } }],
    volumeMounts: [
      { name: 'img', mountPath: '/fixed', subPath: '$(WHO)' },
      { name: 'img', mountPath: '/mine', subPathExpr: 'of/$(WHO)' },
    ],
  };
  const volumes = new Map([['img', { hostPath: '', image: { image: 'sha256:i' } }]]);
  const deviceMounts = [{ containerPath: '/dev/x', hostPath: '/dev/x' }];
  const whole = { ...settings, volumes, deviceMounts };
  const template = containerTemplate(pod({ containers: [container] }), container, whole);
  expect(template.process.imageSubPaths).toEqual([2]);
  const made = completeContainer(template, () => ({ who: 'me' }));
  expect(made.mounts?.map(({ imageSubPath }) => imageSubPath)).toEqual([undefined, '$(WHO)', 'of/me']);
  const thrower = () => completeContainer(template, () => ({ who: '../..' }));
  expect(thrower).toThrow("unable to provision SubPath `of/$(WHO)`: must not contain '..'");
});

describe('container annotations and settings', () => {
  const annotation = (container: Partial<Container>, name: string) => config(container).annotations?.[name];
  const hook = 'io.kubernetes.container.preStopHandler';
  const ports = 'io.kubernetes.container.ports';

  test.each([
    [{ exec: { command: ['echo', '<&>'] } }, '{"exec":{"command":["echo","\\u003c\\u0026\\u003e"]}}'],
    [{ exec: {} }, '{"exec":{}}'],
    [
      { httpGet: { httpHeaders: [{ value: 'v', name: 'n' }], scheme: 'HTTP', host: 'h', port: 'web', path: '/p' } },
      '{"httpGet":{"path":"/p","port":"web","host":"h","scheme":"HTTP","httpHeaders":[{"name":"n","value":"v"}]}}',
    ],
    [{ tcpSocket: { host: '', port: 80 } }, '{"tcpSocket":{"port":80}}'],
    [{ sleep: { seconds: 0 } }, '{"sleep":{"seconds":0}}'],
  ])('contain the hook %j in the API’s JSON form', (preStop, expected) => {
    expect(annotation({ lifecycle: { preStop } }, hook)).toBe(expected);
  });

  test('contain the ports in the API’s JSON form', () => {
    const some = [{ protocol: 'UDP', containerPort: 53, name: 'dns', hostIP: '', hostPort: 0 }];
    expect(annotation({ ports: some }, ports)).toBe('[{"name":"dns","containerPort":53,"protocol":"UDP"}]');
    expect(config({}).annotations).not.toHaveProperty(ports);
  });

  test('contain the grace period of a deleted pod', () => {
    const whole = { name: 'c' };
    const deleted = pod({}, { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 5 });
    const made = containerConfig(deleted, whole, settings);
    expect(made.annotations).toMatchObject({ 'io.kubernetes.pod.deletionGracePeriod': '5' });
    expect(config({}).annotations).not.toHaveProperty('io.kubernetes.pod.deletionGracePeriod');
  });

  test('include those of device plugins, without overriding the agent’s own annotations', () => {
    const hash = 'io.kubernetes.container.hash';
    const made = containerConfig(
      pod(),
      { name: 'c', image: 'busybox' },
      {
        ...settings,
        devices: [{ hostPath: '/dev/x', containerPath: '/dev/y', permissions: 'mrw' }],
        cdiDevices: [{ name: 'vendor.com/gpu=0' }],
        deviceAnnotations: { gpu: '0', [hash]: 'x' },
      },
    );
    expect(made).toMatchObject({
      devices: [{ hostPath: '/dev/x', containerPath: '/dev/y', permissions: 'mrw' }],
      CDIDevices: [{ name: 'vendor.com/gpu=0' }],
      annotations: { gpu: '0', [hash]: config({}).annotations?.[hash] },
    });
  });

  test.each([
    ['SIGUSR1', 'SIGUSR1'],
    ['SIGRTMIN+3', 'SIGRTMINPLUS3'],
    ['SIGRTMAX-14', 'SIGRTMAXMINUS14'],
  ])('contain the stop signal %s, where the feature gate is enabled', (stopSignal, expected) => {
    const whole = { name: 'c', lifecycle: { stopSignal } };
    expect(containerConfig(pod(), whole, { ...settings, stopSignals: true }).stopSignal).toBe(expected);
    expect(containerConfig(pod(), whole, settings)).not.toHaveProperty('stopSignal');
  });
});

describe('sandboxConfig', () => {
  const sandbox = (spec: Parameters<typeof pod>[0], metadata: Parameters<typeof pod>[1] = {}) =>
    sandboxConfig(pod(spec, metadata), { attempt: 1, logDirectory: '/logs/p', cgroupParent: '/kubepods/podu1' });

  test('has names, labels, ports and cgroup', () => {
    const containers = [{ name: 'c', ports: [{ containerPort: 80, hostPort: 8080, protocol: 'UDP' }] }];
    expect(sandbox({ containers }, { labels: { app: 'web' }, annotations: { a: 'b' } })).toMatchObject({
      metadata: { name: 'p', namespace: 'default', uid: 'u1', attempt: 1 },
      hostname: 'p',
      logDirectory: '/logs/p',
      portMappings: [{ protocol: 'UDP', containerPort: 80, hostPort: 8080 }],
      labels: { app: 'web', 'io.kubernetes.pod.uid': 'u1' },
      annotations: { a: 'b' },
      linux: {
        cgroupParent: '/kubepods/podu1',
        securityContext: { namespaceOptions: { network: 'POD', pid: 'CONTAINER' } },
      },
    });
  });

  test('uses the host’s namespaces', () => {
    const made = sandbox({ hostNetwork: true, hostPID: true, hostIPC: true });
    expect(made.hostname).toBeUndefined();
    expect(made.linux?.securityContext?.namespaceOptions).toMatchObject({ network: 'NODE', pid: 'NODE', ipc: 'NODE' });
  });

  test('truncates a host name to the kernel’s limit', () => {
    expect(sandbox({}, { name: `${'a'.repeat(62)}-b` }).hostname).toBe('a'.repeat(62));
  });

  test('contains equal ports of a container only once', () => {
    const ports = [
      { containerPort: 80 },
      { containerPort: 80, protocol: 'TCP' },
      { containerPort: 80, hostIP: '10.0.0.1' },
      { name: 'a', containerPort: 1 },
      { name: 'a', containerPort: 2, protocol: 'SCTP' },
    ];
    const made = sandbox({
      containers: [
        { name: 'c', ports },
        { name: 'd', ports: ports.slice(0, 1) },
      ],
    });
    expect(made.portMappings?.map(({ containerPort, hostIp }) => [containerPort, hostIp])).toEqual([
      [80, ''],
      [80, '10.0.0.1'],
      [1, ''],
      [80, ''],
    ]);
  });

  test.each([
    ['kernel.shm_rmid_forced', 'kernel.shm_rmid_forced'],
    ['kernel/shm_rmid_forced', 'kernel.shm_rmid_forced'],
    ['net/ipv4/conf/eno2.100/rp_filter', 'net.ipv4.conf.eno2/100.rp_filter'],
    ['net.ipv4.conf.eno2/100.rp_filter', 'net.ipv4.conf.eno2/100.rp_filter'],
    ['odd', 'odd'],
  ])('translates the sysctl %s', (name, expected) => {
    expect(sandbox({ securityContext: { sysctls: [{ name, value: '1' }] } }).linux?.sysctls).toEqual({
      [expected]: '1',
    });
  });

  test('does not let the pod’s labels replace those by which it is found', () => {
    expect(sandbox({}, { labels: { 'io.kubernetes.pod.uid': 'x' } }).labels).toMatchObject({
      'io.kubernetes.pod.uid': 'u1',
    });
  });

  test('passes the DNS configuration', () => {
    const dns = { servers: ['1.1.1.1'], searches: [], options: [] };
    const made = sandboxConfig(pod(), { attempt: 0, logDirectory: '/l', cgroupParent: '/p', dns });
    expect(made.dnsConfig).toEqual(dns);
  });
});
