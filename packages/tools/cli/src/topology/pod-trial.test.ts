import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Machine, describedMachine, machineDescription } from '@kubus/exclusive';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPodFile } from './pod-file.ts';
import { podTrialText } from './trial-text.ts';
import { type PodTrial, podTrial } from './trial.ts';

/** Two nodes of two cores with two threads each. */
const found = describedMachine(
  machineDescription.parse({
    ...{ apiVersion: 'kubus.dev/v1', kind: 'Machine' },
    sockets: [
      { id: 0, cpus: '0-3' },
      { id: 1, cpus: '4-7' },
    ],
    nodes: [
      { id: 0, cpus: '0-3', memory: 4 * 2 ** 30 },
      { id: 1, cpus: '4-7', memory: 4 * 2 ** 30 },
    ],
    cores: ['0-1', '2-3', '4-5', '6-7'],
  }),
);
if ('problem' in found) throw new Error(found.problem);
const machine: Machine = found;

const ofContainers = `
apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  initContainers:
    - { name: setup, image: busybox, resources: { limits: { cpu: '1', memory: 1Gi } } }
  containers:
    - { name: main, image: busybox, resources: { limits: { cpu: '2', memory: 1Gi } } }
    - { name: logs, image: busybox, resources: { limits: { cpu: 500m, memory: 1Gi } } }
`;

const asWhole = `
apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  resources:
    requests: { cpu: '4', memory: 2Gi }
    limits: { cpu: '4', memory: 2Gi }
  initContainers:
    - { name: setup, image: busybox }
    - { name: proxy, image: busybox, restartPolicy: Always }
  containers:
    - { name: main, image: busybox, resources: { limits: { cpu: '2', memory: 1Gi } } }
    - { name: logs, image: busybox }
`;

const settings = {
  ...{ numaPolicy: 'single-numa-node', numaScope: 'pod', cpuOptions: [], reservedCpus: undefined, memory: true },
};

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-pod-trial-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function written(text: string): Promise<string> {
  const path = join(folder, 'pod.yaml');
  await writeFile(path, text);
  return path;
}

async function tried(text: string, changed: Partial<typeof settings> = {}): Promise<PodTrial> {
  return podTrial(machine, await readPodFile(await written(text)), { ...settings, ...changed });
}

/** CPUs, who else runs on them, and the NUMA nodes of CPUs and memory. */
function sharesOf({ containers }: PodTrial) {
  return containers.map(({ name, cpus, sharing, cpuNodes, memoryNodes }) =>
    [name, cpus, sharing, cpuNodes, memoryNodes].join(' '),
  );
}

test('each container of a pod gets what it requests, and the others share the CPUs of the node', async () => {
  const trial = await tried(ofContainers);
  expect(sharesOf(trial)).toEqual(['setup 1 nobody 0 0', 'main 2-3 nobody 0 0', 'logs 0,4-7 node 0-1 0']);
  expect(trial).toMatchObject({ admitted: true, qosClass: 'Guaranteed', cpus: '1-3', shared: '0,4-7' });
  expect(trial.pod).toBeUndefined();
});

test('a pod with resources of its own gets them as a whole, and its containers divide them', async () => {
  const trial = await tried(asWhole);
  expect(sharesOf(trial)).toEqual([
    'setup 4-7 pod 1 1',
    'proxy 6-7 pod 1 1',
    'main 4-5 nobody 1 1',
    'logs 6-7 pod 1 1',
  ]);
  expect(trial.pod).toEqual({ cpus: '4-7', cpuNodes: '1', memoryNodes: '1' });
  const text = podTrialText(trial);
  expect(text).toContain('main        4-5    nobody        1            1');
  expect(text).toContain('\npod       CPUs 4-7 on NUMA nodes 1, memory from 1\n');
});

test('where it is not aligned as a whole, its containers get their CPUs of the node', async () => {
  const trial = await tried(asWhole, { numaPolicy: 'none', memory: false });
  expect(sharesOf(trial).slice(1, 3)).toEqual(['proxy 0-1,4-7 node 0-1 ', 'main 2-3 nobody 0 ']);
  expect(podTrialText(trial)).not.toContain('\npod ');
});

test('a pod that would leave nothing to containers that share its CPUs is refused as a kubelet refuses it', async () => {
  const text = asWhole.replace("cpu: '2'", "cpu: '4'");
  const trial = await tried(text, { memory: false, numaPolicy: 'best-effort' });
  expect(trial).toMatchObject({ admitted: false, reason: 'EmptyPodSharedPoolError', containers: [], shared: '0-7' });
  expect(podTrialText(trial)).toMatch(/^refused {3}EmptyPodSharedPoolError: pod rejected, sum of exclusive container/);
});

test('a pod that is not Guaranteed has nothing for itself', async () => {
  const trial = await tried(ofContainers.replace('cpu: 500m, ', ''));
  expect(trial).toMatchObject({ admitted: true, qosClass: 'Burstable', cpus: '', shared: '0-7' });
  expect(sharesOf(trial)).toContain('main 0-7 node 0-1 ');
});

describe('a file that is no pod names its field', () => {
  test.each([
    ['kind: Unsupported value: "Machine": supported values: "Pod", "PodList", "List"', 'apiVersion: v1\nkind: Machine'],
    [
      'spec.containers[0].image: Invalid value: expected string, received number',
      asWhole.replace(/(main, image:) busybox/, '$1 3'),
    ],
    ['spec.containers: Required value', 'apiVersion: v1\nkind: Pod\nmetadata: { name: a }\nspec: { containers: [] }'],
    [
      'spec.resources.requests[cpu]: Invalid value: "4": must be greater than or equal to aggregate container requests of 5',
      asWhole.replace("cpu: '2', memory: 1Gi", "cpu: '5', memory: 1Gi"),
    ],
    ['must be one pod, not 2', `${asWhole}---${ofContainers}`],
    ['the file contains no document', ''],
  ])('%s', async (problem, text) => {
    const path = await written(text);
    await expect(readPodFile(path)).rejects.toThrow(`${path}: ${problem}`);
  });

  test('a missing one is named, too', async () => {
    await expect(readPodFile(join(folder, 'none'))).rejects.toThrow(/none: ENOENT/);
  });
});
