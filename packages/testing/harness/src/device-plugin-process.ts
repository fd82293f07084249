// The process of TestDevicePlugin: the gRPC server, its registration, and the failures that the test has requested.
import { type FSWatcher, existsSync, rmSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import {
  Client,
  Server,
  ServerCredentials,
  type ServerWritableStream,
  type ServiceError,
  type UntypedServiceImplementation,
  credentials,
  status,
} from '@grpc/grpc-js';
import { KubusError, toError } from '@kubus/ports';
import { HANGING_MS } from '@kubus/ports/testing';
import {
  type AllocateRequest,
  DevicePluginService,
  type ListAndWatchResponse,
  RegistrationService,
} from '@kubus/proto/device-plugin-grpc';
import { RegistrationService as PluginRegistration, type RegistrationStatus } from '@kubus/proto/plugin-registration';
import {
  type DeviceDisturbance,
  type DeviceMethod,
  type DevicePluginOrder,
  type DevicePluginSetup,
  type DevicePluginWord,
  socketName,
} from './device-plugin.ts';
import type { PluginWord } from './plugin-process.ts';

const setup = JSON.parse(process.argv[2] ?? '') as DevicePluginSetup;
const { resource, folder, registry, version = 'v1beta1', preStart = false, preferred, mount } = setup;
const nodeSocket = join(folder, 'kubelet.sock');
const ownSocket = join(registry ?? folder, socketName(resource));

const tell = (word: DevicePluginWord | PluginWord) => void process.send?.(word);

let { devices } = setup;
let disturbances: (DeviceDisturbance & { left: number })[] = [];
let released: (() => void)[] = [];
const lists = new Set<ServerWritableStream<unknown, ListAndWatchResponse>>();

/** Applies the requested fault. */
async function disturbed(method: DeviceMethod): Promise<void> {
  const found = disturbances.find((one) => one.method === method);
  if (found === undefined) return;
  found.left -= 1;
  disturbances = disturbances.filter(({ left }) => left > 0);
  if (found.what === 'die') process.kill(process.pid, 'SIGKILL');
  if (found.what === 'fail') throw new KubusError('failed', `${method} fails as the test wants`);
  await new Promise<void>((resolve) => released.push(resolve));
}

type Respond = (error: { code: number; details: string } | null, answer?: unknown) => void;

function serve(method: DeviceMethod, answer: (request: never) => unknown) {
  return ({ request }: { request: unknown }, respond: Respond) => {
    tell({ word: 'call', call: { method, request: request as Record<string, unknown> } });
    disturbed(method).then(
      () => respond(null, answer(request as never)),
      (error: unknown) => respond({ code: status.UNKNOWN, details: toError(error).message }),
    );
  };
}

const list = (): ListAndWatchResponse => ({
  devices: devices.map(({ id, healthy = true, numaNodes = [] }) => ({
    ID: id,
    health: healthy ? 'Healthy' : 'Unhealthy',
    topology: numaNodes.length === 0 ? undefined : { nodes: numaNodes.map((node) => ({ ID: String(node) })) },
  })),
});

const service = {
  getDevicePluginOptions: serve('options', () => ({
    preStartRequired: preStart,
    getPreferredAllocationAvailable: preferred !== undefined,
  })),
  listAndWatch: (stream: ServerWritableStream<unknown, ListAndWatchResponse>) => {
    tell({ word: 'call', call: { method: 'list', request: {} } });
    stream.on('close', () => lists.delete(stream));
    disturbed('list').then(
      () => {
        lists.add(stream);
        stream.write(list());
      },
      (error: unknown) => stream.emit('error', { code: status.UNKNOWN, details: toError(error).message }),
    );
  },
  getPreferredAllocation: serve('preferred', () => ({ containerResponses: [{ deviceIDs: [...(preferred ?? [])] }] })),
  allocate: serve('allocate', ({ containerRequests }: AllocateRequest) => ({
    containerResponses: containerRequests.map(({ devicesIds }) => ({
      envs: { TEST_DEVICES: devicesIds.toSorted().join(',') },
      mounts:
        mount === undefined
          ? []
          : [{ containerPath: `/test-device/${resource.split('/').at(-1)}`, hostPath: mount, readOnly: true }],
      devices: devicesIds.map((id) => ({ containerPath: `/dev/${id}`, hostPath: '/dev/null', permissions: 'rw' })),
      annotations: { 'test.kubus/devices': devicesIds.toSorted().join(',') },
      cdiDevices: [],
    })),
  })),
  preStartContainer: serve('preStart', () => ({})),
} as unknown as UntypedServiceImplementation;

const pluginRegistration = {
  getInfo: (_: unknown, respond: Respond) =>
    respond(null, { type: 'DevicePlugin', name: resource, endpoint: '', supportedVersions: [version] }),
  notifyRegistrationStatus: ({ request }: { request: RegistrationStatus }, respond: Respond) => {
    tell({ word: 'registered', error: request.error });
    respond(null, {});
  },
} as unknown as UntypedServiceImplementation;

async function listen(): Promise<void> {
  rmSync(ownSocket, { force: true });
  const server = new Server();
  server.addService(DevicePluginService, service);
  if (registry !== undefined) server.addService(PluginRegistration, pluginRegistration);
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${ownSocket}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}

/** How soon a socket that exists but does not answer yet is tried again, in milliseconds. */
const AGAIN_MS = 20;

/** Registers, over a connection of its own, with the node's current socket; if it was removed, waits for the next one. */
function register(): void {
  const identity = nodeIdentity();
  const client = new Client(`unix:${nodeSocket}`, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = RegistrationService.register;
  const request = { version, endpoint: socketName(resource), resourceName: resource, options: undefined };
  const answered = (error: ServiceError | null) => {
    client.close();
    if (error?.code !== status.UNAVAILABLE) tell({ word: 'registered', error: error?.details ?? '' });
    // A socket exists a moment before the node listens on it.
    else if (identity !== undefined && identity === nodeIdentity()) setTimeout(register, AGAIN_MS);
  };
  client.makeUnaryRequest(
    path,
    requestSerialize,
    responseDeserialize,
    request,
    { deadline: Date.now() + HANGING_MS },
    answered,
  );
}

/** Identifies the node's socket; undefined when there is none. */
function nodeIdentity(): string | undefined {
  if (!existsSync(nodeSocket)) return undefined;
  const { ino, birthtimeNs } = statSync(nodeSocket, { bigint: true });
  return `${ino}:${birthtimeNs}`;
}

let known: string | undefined;
/**
 * As plugins do: a new socket of the node means that no plugin is registered. The plugin's own socket is created again
 * when it was removed.
 */
async function lookAtNode(): Promise<void> {
  const identity = nodeIdentity();
  if (identity === known) return;
  known = identity;
  if (identity === undefined) return;
  if (!existsSync(ownSocket)) await listen();
  register();
}

process.on('message', ({ ...order }: DevicePluginOrder) => {
  if (order.order === 'disturb') disturbances.push({ ...order.disturbance, left: order.disturbance.times ?? 1 });
  if (order.order === 'devices') {
    ({ devices } = order);
    for (const stream of lists) stream.write(list());
  }
  if (order.order === 'release') {
    for (const release of released) release();
    released = [];
    disturbances = [];
  }
  if (order.order === 'endList') for (const stream of lists) stream.end();
  if (order.order === 'register') register();
  tell({ word: 'understood' });
});
// The test that started it has ended.
process.on('disconnect', () => process.exit());

await listen();
let watcher: FSWatcher | undefined;
if (registry === undefined) {
  watcher = watch(folder, () => void lookAtNode());
  await lookAtNode();
}
process.on('exit', () => watcher?.close());
tell({ word: 'ready' });
