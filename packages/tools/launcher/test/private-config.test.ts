import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NodeConfig } from '@kubus/service-kit';
import { readPrivateConfig, withPrivateConfig } from '../src/node/private-config.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-config-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function fileWith(fields: string): Promise<string> {
  const file = join(folder, 'config.yaml');
  await writeFile(file, `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${fields}\n`);
  return file;
}

test('what a file sets replaces what a private node has, and nothing else', async () => {
  const file = await fileWith(
    [
      'maxPods: 500',
      'podPidsLimit: -1',
      'clusterDNS: [10.96.0.10]',
      'containerLogMaxSize: 1Mi',
      'imageGCHighThresholdPercent: 90',
      'evictionHard: {memory.available: 100Mi}',
    ].join('\n'),
  );
  const node = {
    pods: { max: 110, pidsLimit: 1_024, seccompDefault: false },
    dns: { servers: [], domain: 'cluster.local' },
    logs: { maxSize: 10, maxFiles: 5 },
    images: { pullQps: 5, gc: { highPercent: 85, keep: ['busybox'] } },
    reserved: { system: {}, evictionHard: {} },
    eviction: { hard: {}, transitionMs: 300_000 },
  } as unknown as NodeConfig;
  expect(withPrivateConfig(node, readPrivateConfig(file))).toEqual({
    pods: { max: 500, seccompDefault: false },
    dns: { servers: ['10.96.0.10'], domain: 'cluster.local' },
    logs: { maxSize: 1024 * 1024, maxFiles: 5 },
    images: { pullQps: 5, gc: { highPercent: 90, keep: ['busybox'] } },
    reserved: { system: {}, evictionHard: { 'memory.available': '100Mi' } },
    eviction: { hard: { 'memory.available': '100Mi' }, transitionMs: 300_000 },
  });
  expect(withPrivateConfig(node, undefined)).toBe(node);
});

test('CPUs of containers alone are set, and those of reservedSystemCPUs count as reserved', async () => {
  const fields = ['cpuManagerPolicy: static', 'reservedSystemCPUs: 0-1', 'topologyManagerPolicy: restricted'];
  const node = { reserved: { system: {} }, exclusive: { cpuPolicy: 'none', memoryPolicy: 'None' }, devices: {} };
  const file = await fileWith([...fields, 'systemReserved: {cpu: 100m, memory: 1Gi}'].join('\n'));
  expect(withPrivateConfig(node as unknown as NodeConfig, readPrivateConfig(file))).toEqual({
    reserved: { system: { cpu: '2', memory: '1Gi' } },
    exclusive: { cpuPolicy: 'static', memoryPolicy: 'None', reservedCpus: '0-1' },
    devices: { topologyPolicy: 'restricted', topologyScope: 'container', preferClosestNodes: false, mostNodes: 8 },
  });
});

test.each([
  ['staticPodPath: /pods', /config\.yaml: staticPodPath: a private node does not have this setting; it has .*maxPods/],
  ['kubeAPIQPS: 5', /config\.yaml: kubeAPIQPS: a private node does not have this setting/],
  ['maxPods: many', /config\.yaml: .*maxPods/],
  ['maxPods: -1', /config\.yaml: .*maxPods/],
  ['maxPodz: 5', /config\.yaml: .*maxPodz/],
  ['evictionSoft: {memory.available: 1Gi}', /config\.yaml: .*grace period must be specified/],
  ['maxPods: [', /config\.yaml: .*line/],
])('a file with %j is refused, with file and field', async (fields, message) => {
  const file = await fileWith(fields);
  expect(() => readPrivateConfig(file)).toThrow(message);
});

test('a file that does not exist, and one that is too large, are refused by name', async () => {
  expect(() => readPrivateConfig(join(folder, 'none.yaml'))).toThrow(/none\.yaml: .*ENOENT/);
  const file = await fileWith(`# ${'x'.repeat(300_000)}`);
  expect(() => readPrivateConfig(file)).toThrow(/config\.yaml: it has 3\d{5} bytes, more than 262144/);
});
