import { nodeObjectSchema, type NodeObject, type StatusInput } from '../src/index.ts';

/** The input for the status of a healthy node. */
export function statusInput(over: Partial<StatusInput> = {}): StatusInput {
  return {
    machine: {
      ...{ architecture: 'amd64', machineId: 'machine', systemUuid: 'system', bootId: 'boot' },
      ...{ kernelVersion: '6.18.0', osImage: 'Debian', swapBytes: 0 },
    },
    version: 'v1.36.2+kubus.1.0.0',
    devices: { capacity: {}, allocatable: {} },
    capacity: { cpu: '2', memory: '4Gi', pods: '110', 'ephemeral-storage': '10Gi' },
    reserved: { system: {}, kube: {}, evictionHard: {} },
    addresses: [
      { type: 'InternalIP', address: '10.0.0.1' },
      { type: 'Hostname', address: 'node0' },
    ],
    annotations: {},
    port: 10_250,
    runtime: {
      ...{ ready: true, name: 'containerd', version: '1.6.20', network: 'runtime', networkReady: true },
      events: 'containerd',
    },
    images: [],
    maxImages: 50,
    csi: { plugins: [], complete: false },
    volumesInUse: undefined,
    declaredFeatures: [],
    pressure: { memory: false, disk: false, pid: false },
    problems: [],
    now: '2030-01-01T00:00:00Z',
    ...over,
  };
}

/** A Node object of the API server. */
export function node(over: { metadata?: object; spec?: object; status?: object } = {}): NodeObject {
  return nodeObjectSchema.parse({
    metadata: { name: 'node0', uid: 'u1', resourceVersion: '7', ...over.metadata },
    spec: over.spec ?? {},
    status: over.status ?? {},
  });
}
