import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { asList, at } from '@kubus/kube-objects';
import { type JsonObject, pathOf } from '../src/index.ts';
import { JudgedCluster, refused } from './judged-cluster.ts';

let judged: JudgedCluster;
const id = randomBytes(4).toString('hex');
const PRIORITY = { kind: 'PriorityClass', name: `high-${id}` };
const STORAGE = { kind: 'StorageClass', name: `fast-${id}` };
const priorityClass = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: PRIORITY.name } };
const storageClass = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: STORAGE.name } };

beforeAll(async () => {
  judged = await JudgedCluster.open();
});
afterAll(async () => {
  await judged.cluster.delete(PRIORITY);
  await judged.cluster.delete(STORAGE);
  await judged.close();
});

async function rowOf(path: string): Promise<unknown> {
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  const { body } = await judged.cluster.raw('GET', path, { headers });
  const names = asList(body['columnDefinitions']).map((column) => at(column, 'name') as string);
  const cells = asList(at(asList(body['rows'])[0], 'cells'));
  return Object.fromEntries(cells.map((cell, index) => [names[index] ?? '', cell]));
}

describe('a priority class', () => {
  test('gives pods their priority and preemption policy, and keeps its value', async () => {
    const made = await judged.cluster.create({ ...priorityClass, value: 1000, preemptionPolicy: 'Never' });
    expect(made).toMatchObject({ value: 1000, metadata: { generation: 1 } });
    const pod = await judged.pod('important', { priorityClassName: PRIORITY.name });
    expect(pod.spec).toMatchObject({ priority: 1000, preemptionPolicy: 'Never', priorityClassName: PRIORITY.name });
    const changed = await judged.patch(pathOf(PRIORITY), 'merge', { value: 1001 });
    expect(changed).toMatchObject(refused(422, 'Invalid', /: value: Forbidden: may not be changed in an update.$/));
    const policy = await judged.patch(pathOf(PRIORITY), 'merge', { preemptionPolicy: 'PreemptLowerPriority' });
    expect(policy).toMatchObject(refused(422, 'Invalid', /: preemptionPolicy: Invalid value: .*: field is immutable$/));
    expect(await rowOf(pathOf(PRIORITY))).toMatchObject({
      Name: PRIORITY.name,
      Value: 1000,
      'Global-Default': false,
    });
  });

  test.each<[string, JsonObject, RegExp]>([
    [
      'too high a value',
      { value: 1_000_000_001 },
      /: value: Forbidden: maximum allowed value of a user defined priority/,
    ],
    [
      'a name of the system',
      { metadata: { name: 'system-mine' }, value: 1 },
      /: metadata.name: Forbidden: priority class names/,
    ],
  ])('is refused with %s', async (_what, fields, message) => {
    const path = pathOf({ kind: 'PriorityClass', name: '' });
    const body = { ...priorityClass, metadata: { name: `bad-${id}` }, ...fields };
    expect(await judged.cluster.raw('POST', path, { body })).toMatchObject(refused(422, 'Invalid', message));
  });
});

test('a storage class gets its defaults, and keeps what volumes are made with', async () => {
  const missing = await judged.cluster.raw('POST', pathOf({ kind: 'StorageClass', name: '' }), { body: storageClass });
  expect(missing).toMatchObject(refused(422, 'Invalid', /provisioner: Required value/));
  const made = await judged.cluster.create({ ...storageClass, provisioner: 'example.com/disk' });
  expect(made).toMatchObject({ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' });
  for (const [field, value] of [
    ['provisioner', 'example.com/other'],
    ['parameters', { a: 'b' }],
    ['reclaimPolicy', 'Retain'],
    ['volumeBindingMode', 'WaitForFirstConsumer'],
  ] as const) {
    const changed = await judged.patch(pathOf(STORAGE), 'merge', { [field]: value });
    const message = new RegExp(`: ${field}: Invalid value: .*: field is immutable$`);
    expect(changed).toMatchObject(refused(422, 'Invalid', message));
  }
  const { Age: _, ...row } = (await rowOf(pathOf(STORAGE))) as JsonObject;
  expect(row).toEqual({
    Name: STORAGE.name,
    Provisioner: 'example.com/disk',
    ReclaimPolicy: 'Delete',
    VolumeBindingMode: 'Immediate',
    AllowVolumeExpansion: false,
  });
});

test('an endpoint slice gets its defaults, and a generation of its endpoints', async () => {
  const name = { kind: 'EndpointSlice', namespace: judged.namespace, name: 'web-1' };
  const made = await judged.cluster.create({
    ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
    metadata: { namespace: judged.namespace, name: 'web-1' },
    endpoints: [{ addresses: ['10.1.2.3'] }, { addresses: ['10.1.2.4'] }],
    ports: [{ port: 80 }, { port: 81, name: 'b' }, { port: 82, name: 'c' }, { port: 83, name: 'd' }],
  });
  expect(made).toMatchObject({
    metadata: { generation: 1 },
    ports: [{ name: '', port: 80, protocol: 'TCP' }, {}, {}, {}],
  });
  const { Age: _, ...row } = (await rowOf(pathOf(name))) as JsonObject;
  expect(row).toEqual({
    Name: 'web-1',
    AddressType: 'IPv4',
    Ports: '80,81,82 + 1 more...',
    Endpoints: '10.1.2.3,10.1.2.4',
  });
  const changed = await judged.cluster.patch(name, { endpoints: [{ addresses: ['10.1.2.5'] }] });
  expect(changed.metadata.generation).toBe(2);
  const moved = await judged.patch(pathOf(name), 'merge', { addressType: 'IPv6', endpoints: [] });
  expect(moved).toMatchObject(refused(422, 'Invalid', /addressType: Invalid value: "IPv6": field is immutable/));
});
