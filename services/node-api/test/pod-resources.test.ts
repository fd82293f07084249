// The pod resources API over its socket, from the facts of other services.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { podRefOf } from '@kubus/contracts';
import { callPlugin, pluginClient } from '@kubus/node-plugins';
import { PodResourcesListerService } from '@kubus/proto/pod-resources-grpc';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ApiNode, open, podNamed } from './api-node.ts';
import { get } from './client.ts';

let node: ApiNode;
const [web, over] = [podNamed('web'), podNamed('over')];
const resource = 'example.com/device';

beforeAll(async () => {
  node = await ApiNode.make();
  const devices = [
    { id: 'a', healthy: true, topology: { numaNodes: [1] } },
    { id: 'b', healthy: true },
    { id: 'c', healthy: false },
  ];
  node.hasDevices({ resource, devices, gone: false });
  node.hasDevices({ resource: 'example.com/gone', devices: [{ id: 'd', healthy: true }], gone: true });
  web.spec.resourceClaims = [
    { name: 'gpu', resourceClaimName: 'g' },
    { name: 'other', resourceClaimName: 'o' },
  ];
  const side = web.spec.containers.find(({ name }) => name === 'side');
  if (side !== undefined) side.resources = { claims: [{ name: 'gpu' }] };
  const device = { pool: 'node0', device: 'd0', requests: [], cdiDevices: ['a.test/gpu=d0'] };
  const prepared = (name: string) => ({ name, uid: name, drivers: [{ driver: 'a.test', devices: [device] }] });
  node.claimed(web, [prepared('g'), prepared('o')]);
  for (const pod of [web, over]) {
    node.want('api', pod);
    const resources = [{ resource, devices: [{ id: 'a', topology: { numaNodes: [1] } }, { id: 'b' }] }];
    node.given({ ref: podRefOf(pod), containers: [{ name: 'main', resources }] });
  }
  const [uid, bytes] = [web.metadata.uid, 2 ** 30];
  node.hasMachine({
    machine: {
      sockets: [{ id: 0, cpus: '0-5' }],
      ...{ nodes: [], cores: [], caches: [], offline: '', isolated: '' },
    },
    policies: { cpu: 'static', memory: 'Static', topology: 'none', scope: 'container' },
    ...{ reserved: '0', shared: '0-2,5' },
    memory: [
      { node: 0, resource: 'memory', allocatable: 4 * bytes, free: 3 * bytes },
      { node: 1, resource: 'hugepages-2Mi', allocatable: bytes, free: bytes },
      { node: 1, resource: 'hugepages-1Gi', allocatable: 0, free: 0 },
    ],
    containers: [
      { uid, name: 'main', cpus: '3-4', memory: [{ nodes: '0-1', resource: 'memory', bytes }] },
      { uid: 'another', name: 'main', cpus: '5', memory: [] },
    ],
  });
  node.status(over, { phase: 'Succeeded' });
  await node.start(open);
});
afterAll(() => node.remove());

const socket = () => join(node.folder, 'kubelet', 'pod-resources', 'kubelet.sock');
const callee = () => ({ socket: socket(), limitMs: 10_000 });
const a = { resourceName: resource, deviceIds: ['a'], topology: { nodes: [{ ID: '1' }] } };
const b = { resourceName: resource, deviceIds: ['b'], topology: undefined };
const memory = (memoryType: string, size: number, ...nodes: string[]) => {
  return { memoryType, size: String(size), topology: { nodes: nodes.map((ID) => ({ ID })) } };
};
const nothing = { cpuIds: [], memory: [], dynamicResources: [] };
const claimResources = [
  {
    ...{ driverName: 'a.test', poolName: 'node0', deviceName: 'd0', shareId: undefined },
    cdiDevices: [{ name: 'a.test/gpu=d0' }],
  },
];
const claim = { claimName: 'g', claimNamespace: 'default', claimResources };
const listed = {
  ...{ name: 'web', namespace: 'default' },
  containers: [
    {
      name: 'main',
      devices: [a, b],
      cpuIds: ['3', '4'],
      memory: [memory('memory', 2 ** 30, '0', '1')],
      dynamicResources: [],
    },
    { name: 'side', devices: [], ...nothing, dynamicResources: [claim] },
  ],
};

test('lists pods that have not ended, with devices, claims, CPUs and memory of their containers, and what pods may have', async () => {
  expect(statSync(socket()).mode & 0o777).toBe(0o600);
  expect(await callPlugin(callee(), PodResourcesListerService.list, {})).toEqual({ podResources: [listed] });
  expect(await callPlugin(callee(), PodResourcesListerService.getAllocatableResources, {})).toEqual({
    ...{ devices: [a, b], cpuIds: ['1', '2', '3', '4', '5'] },
    memory: [memory('memory', 4 * 2 ** 30, '0'), memory('hugepages-2Mi', 2 ** 30, '1')],
  });
  const one = { podName: 'web', podNamespace: 'default' };
  expect(await callPlugin(callee(), PodResourcesListerService.get, one)).toEqual({ podResources: listed });
});

test('lists the devices of all pods in version v1alpha1', async () => {
  const list = { ...PodResourcesListerService.list, path: '/v1alpha1.PodResourcesLister/List' };
  const main = { name: 'main', devices: [{ ...a, topology: undefined }, b], ...nothing };
  const containers = [main, { name: 'side', devices: [], ...nothing }];
  const { podResources } = await callPlugin(callee(), list, {});
  expect(podResources.toSorted((one, other) => other.name.localeCompare(one.name))).toEqual([
    { name: 'web', namespace: 'default', containers },
    { name: 'over', namespace: 'default', containers },
  ]);
});

test('reports an unknown pod, and counts the failure as the reference does', async () => {
  const none = callPlugin(callee(), PodResourcesListerService.get, { podName: 'none', podNamespace: 'other' });
  await expect(none).rejects.toThrow('rpc error: code = Unknown desc = pod none in namespace other not found');
  const { text } = await get(node.api.ports.secure, '/metrics', {});
  const counted = text.split('\n').filter((line) => line.startsWith('kubelet_pod_resources_endpoint_'));
  expect(counted.toSorted()).toEqual([
    'kubelet_pod_resources_endpoint_errors_get_allocatable{server_api_version="v1"} 0',
    'kubelet_pod_resources_endpoint_errors_get{server_api_version="v1"} 1',
    'kubelet_pod_resources_endpoint_errors_list{server_api_version="v1"} 0',
    'kubelet_pod_resources_endpoint_requests_get_allocatable{server_api_version="v1"} 1',
    'kubelet_pod_resources_endpoint_requests_get{server_api_version="v1"} 2',
    'kubelet_pod_resources_endpoint_requests_list{server_api_version="v1"} 1',
    'kubelet_pod_resources_endpoint_requests_total{server_api_version="v1"} 4',
    'kubelet_pod_resources_endpoint_requests_total{server_api_version="v1alpha1"} 1',
  ]);
});

test('limits the rate of requests', async () => {
  const client = pluginClient(socket());
  const { path, requestSerialize, responseDeserialize } = PodResourcesListerService.getAllocatableResources;
  const call = () =>
    new Promise<string>((resolve) => {
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, {}, (error) =>
        resolve(error?.details ?? ''),
      );
    });
  // More than any machine serves in the time in which they would be allowed.
  const outcomes = new Set(await Promise.all(Array.from({ length: 1000 }, call)));
  client.close();
  expect(outcomes).toEqual(new Set(['', 'rejected by rate limit']));
});
