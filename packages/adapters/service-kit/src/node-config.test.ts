import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, readNodeConfig } from './node-config.ts';
import { withOwnLevel } from './own-level.ts';

/** The minimal configuration. */
const least = {
  node: 'node0.example',
  nats: { url: 'nats://127.0.0.1:4222', identities: '/i' },
  state: '/s',
  manifests: { path: '/m' },
  runtime: { socket: '/r' },
  network: { configDir: '/c', pluginDirs: ['/p'], socket: '/n' },
  pods: { root: '/k', logs: '/l' },
};

let dir: string;
let path: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubus-config-'));
  path = join(dir, 'node.json');
});
afterEach(() => rmSync(dir, { recursive: true }));

function read(text: string) {
  writeFileSync(path, text);
  return readNodeConfig(path).config;
}

describe('the node’s configuration', () => {
  test('has a default for everything optional', () => {
    expect(read(JSON.stringify(least))).toEqual({
      ...least,
      nodeIps: [],
      faults: false,
      nodeObject: {
        register: true,
        schedulable: true,
        statusEveryMs: 10_000,
        reportEveryMs: 300_000,
        leaseSeconds: 40,
        maxImages: 50,
        providerId: '',
        externalCloud: false,
        iptablesUtilChains: false,
        controllerAttachDetach: true,
      },
      instances: {},
      labels: {},
      taints: [],
      reserved: { system: {}, kube: {}, evictionHard: {}, enforce: ['pods'], systemCgroup: '', kubeCgroup: '' },
      eviction: {
        ...{ hard: {}, soft: {}, softGracePeriod: {}, minimumReclaim: {} },
        ...{ ofAllocatable: false, transitionMs: 300_000, maxPodGraceSeconds: 0, storageLimits: true },
      },
      logLevel: 'info',
      journal: false,
      placement: 'separate',
      httpPorts: {},
      manifests: { ...least.manifests, checkEveryMs: 20_000 },
      runtime: { ...least.runtime, sandboxesAtOnce: 8, cgroupRoot: '/' },
      network: { ...least.network, chainsAtOnce: 8, pluginTimeoutMs: 30_000, podCidrs: [] },
      pods: {
        ...least.pods,
        projectQuotas: false,
        syncEveryMs: 60_000,
        cgroupDriver: 'cgroupfs',
        max: 110,
        unsafeSysctls: [],
        cpuQuota: true,
        deadContainers: { perContainer: 1, total: -1, minAgeMs: 0 },
        cpuPeriodUs: 100_000,
        singleProcessOomKill: false,
        swapBehavior: 'NoSwap',
        seccompDefault: false,
      },
      images: {
        pullQps: 5,
        pullBurst: 10,
        verification: { policy: 'NeverVerifyPreloadedImages', allowlist: [] },
        gc: { highPercent: 85, lowPercent: 80, minAgeMs: 120_000, maxAgeMs: 0, keep: [] },
      },
      systemCgroups: { kubelet: '', kubeletStartedAtMs: 0, runtime: '', misc: '' },
      userNamespaces: { idsPerPod: 65_536 },
      events: { qps: 50, burst: 100 },
      logs: { maxSize: 10_485_760, maxFiles: 5, monitorEveryMs: 10_000, workers: 1 },
      devices: { topologyPolicy: 'none', topologyScope: 'container' },
      exclusive: {
        ...{ cpuPolicy: 'none', cpuOptions: {}, gates: { alpha: false, beta: true }, withoutQuota: true },
        podLevel: false,
        ...{ reconcileMs: 10_000, reservedCpus: '', memoryPolicy: 'None', reservedMemory: [] },
      },
      dns: { servers: [], domain: 'cluster.local', resolvConf: '/etc/resolv.conf' },
    });
  });

  test.each<[object, string]>([
    [{ node: 'Node_0' }, 'node: '],
    [{ node: undefined }, 'node: '],
    [{ logLevel: 'loud' }, 'logLevel: '],
    [{ nats: { url: 'x' } }, 'nats.identities: '],
    [{ httpPorts: { 'sync-loop-0': 70_000 } }, 'httpPorts.sync-loop-0: '],
    [{ network: { ...least.network, pluginDirs: [] } }, 'network.pluginDirs: '],
    [{ pods: { ...least.pods, syncEveryMs: 0 } }, 'pods.syncEveryMs: '],
    [{ pods: { ...least.pods, cgroupDriver: 'none' } }, 'pods.cgroupDriver: '],
    [{ pods: { ...least.pods, swapBehavior: 'Some' } }, 'pods.swapBehavior: '],
    [
      { pods: { ...least.pods, memoryQos: { throttlingFactor: 2, reservation: 'None' } } },
      'pods.memoryQos.throttlingFactor: ',
    ],
    [{ reserved: { qosMemoryPercent: 101 } }, 'reserved.qosMemoryPercent: '],
    [{ images: { pullBurst: 0 } }, 'images.pullBurst: '],
    [{ images: { serialize: true, maxParallel: 2 } }, 'images.maxParallel: '],
    [{ images: { gc: { highPercent: 70 } } }, 'images.gc.lowPercent: '],
    [{ images: { verification: { policy: 'Sometimes' } } }, 'images.verification.policy: '],
    [{ logs: { maxFiles: 1 } }, 'logs.maxFiles'],
    [{ userNamespaces: { idsPerPod: 100_000 } }, 'userNamespaces.idsPerPod: '],
    [{ runtime: { ...least.runtime, sandboxesAtOnce: 1.5 } }, 'runtime.sandboxesAtOnce: '],
    [{ manifests: { path: 7, checkEvryMs: 5 } }, 'manifests.path: '],
  ])('with %j is refused, naming file and field', (change, field) => {
    const text = JSON.stringify({ ...least, ...change });
    expect(() => read(text)).toThrow(ConfigError);
    expect(() => read(text)).toThrow(`${path}: `);
    expect(() => read(text)).toThrow(field);
  });

  test('is accepted without the unknown fields of another version, which are named', () => {
    const later = { ...least, colour: 'blue', pods: { ...least.pods, shape: { round: true } }, dns: { server: [] } };
    writeFileSync(path, JSON.stringify(later));
    const { config, unknown } = readNodeConfig(path);
    expect(unknown).toEqual(['pods.shape', 'dns.server', 'colour']);
    expect(config).toEqual(read(JSON.stringify(least)));
    expect(readNodeConfig(path).unknown).toEqual([]);
  });

  test('names every wrong field at once', () => {
    const text = JSON.stringify({ ...least, node: 7, state: 7 });
    expect(() => read(text)).toThrow(/node: .*; state: /);
  });

  test('that is missing or not JSON is refused with the file name', () => {
    expect(() => read('{"node":')).toThrow(`${path}: `);
    expect(() => readNodeConfig(join(dir, 'other.json'))).toThrow(`${join(dir, 'other.json')}: ENOENT`);
  });
});

test('a process may have another log level than its node', () => {
  const config = read(JSON.stringify(least));
  expect(withOwnLevel(config, 'debug')).toEqual({ ...config, logLevel: 'debug' });
  expect(withOwnLevel(config, '')).toBe(config);
  expect(withOwnLevel(config)).toBe(config);
  expect(() => withOwnLevel(config, 'loud')).toThrow(/^KUBUS_LOG_LEVEL: /);
});
