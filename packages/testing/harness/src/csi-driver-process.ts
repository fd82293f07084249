// The process of TestCsiDriver: the gRPC servers, and the failures that the test has requested.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Server, ServerCredentials, type UntypedServiceImplementation, status } from '@grpc/grpc-js';
import { KubusError, toError } from '@kubus/ports';
import { NodeService } from '@kubus/proto/csi-grpc';
import { RegistrationService, type RegistrationStatus } from '@kubus/proto/plugin-registration';
import type { CsiDisturbance, CsiDriverOrder, CsiDriverSetup, CsiDriverWord, CsiMethod } from './csi-driver.ts';
import { CsiVolumes } from './csi-volumes.ts';
import type { PluginWord } from './plugin-process.ts';

const setup = JSON.parse(process.argv[2] ?? '') as CsiDriverSetup;
const { name, folder, registry, topology = {}, maxVolumes = 0 } = setup;
const { capabilities = ['STAGE_UNSTAGE_VOLUME'], type = 'CSIPlugin', versions = ['1.0.0'] } = setup;
const volumes = new CsiVolumes(folder);

const tell = (word: CsiDriverWord | PluginWord) => void process.send?.(word);

let disturbances: (CsiDisturbance & { left: number })[] = [];
let released: (() => void)[] = [];

/** The fault of this call, if any; the call counts as one affected by it. */
function nextDisturbance(method: CsiMethod): CsiDisturbance | undefined {
  const found = disturbances.find((one) => one.method === method);
  if (found === undefined) return undefined;
  found.left -= 1;
  disturbances = disturbances.filter(({ left }) => left > 0);
  return found;
}

async function disturbed<T>(method: CsiMethod, action: () => Promise<T>): Promise<T> {
  const disturbance = nextDisturbance(method);
  if (disturbance === undefined) return action();
  const { what, code = 'INTERNAL', done = false } = disturbance;
  if (done) await action();
  if (what === 'die') process.kill(process.pid, 'SIGKILL');
  if (what === 'fail') throw new KubusError(code, `${method} fails as the test wants`);
  await new Promise<void>((resolve) => released.push(resolve));
  return action();
}

type Respond = (error: { code: number; details: string } | null, answer?: unknown) => void;

/** A method of the server: reports the call, applies the requested fault, then calls `answer`. */
function serve(method: CsiMethod, answer: (request: never) => unknown) {
  return ({ request }: { request: unknown }, respond: Respond) => {
    tell({ word: 'call', call: { method, request: request as Record<string, unknown> } });
    disturbed(method, async () => (await answer(request as never)) ?? {}).then(
      (result) => respond(null, result),
      (thrown: unknown) => {
        const { message, code } = toError(thrown) as Error & { code?: string };
        const number = status[code as keyof typeof status] as number | undefined;
        respond({ code: number ?? status.INTERNAL, details: message });
      },
    );
  };
}

const node = {
  nodeStageVolume: serve('stage', volumes.stage.bind(volumes)),
  nodeUnstageVolume: serve('unstage', volumes.unstage.bind(volumes)),
  nodePublishVolume: serve('publish', volumes.publish.bind(volumes)),
  nodeUnpublishVolume: serve('unpublish', volumes.unpublish.bind(volumes)),
  nodeExpandVolume: serve('expand', volumes.expand.bind(volumes)),
  nodeGetVolumeStats: serve('stats', () => ({
    usage: [
      { unit: 'BYTES', total: '1000', used: '300', available: '700' },
      { unit: 'INODES', total: '100', used: '3', available: '97' },
    ],
  })),
  nodeGetCapabilities: serve('capabilities', () => ({
    capabilities: capabilities.map((one) => ({ rpc: { type: one } })),
  })),
  nodeGetInfo: serve('info', () => ({
    nodeId: `${name}-node`,
    maxVolumesPerNode: String(maxVolumes),
    accessibleTopology: { segments: topology },
  })),
} as unknown as UntypedServiceImplementation;

const endpoint = join(folder, 'csi.sock');
const registration = {
  getInfo: (_: unknown, respond: Respond) => respond(null, { type, name, endpoint, supportedVersions: versions }),
  notifyRegistrationStatus: ({ request }: { request: RegistrationStatus }, respond: Respond) => {
    tell({ word: 'registered', registered: request.pluginRegistered, error: request.error });
    respond(null, {});
  },
} as unknown as UntypedServiceImplementation;

function listen(socket: string, server: Server): Promise<void> {
  rmSync(socket, { force: true });
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}

process.on('message', ({ ...order }: CsiDriverOrder) => {
  if (order.order === 'disturb') disturbances.push({ ...order.disturbance, left: order.disturbance.times ?? 1 });
  if (order.order === 'release') {
    for (const release of released) release();
    released = [];
    disturbances = [];
  }
  if (order.order === 'forget') volumes.forget();
  tell({ word: 'understood' });
});
// The test that started it has ended.
process.on('disconnect', () => process.exit());
const registrar = join(registry, `${name}-reg.sock`);
process.on('SIGTERM', () => {
  for (const socket of [registrar, endpoint]) rmSync(socket, { force: true });
  process.exit();
});

const nodeServer = new Server();
nodeServer.addService(NodeService, node);
await listen(endpoint, nodeServer);
const registrationServer = new Server();
registrationServer.addService(RegistrationService, registration);
await listen(registrar, registrationServer);
tell({ word: 'ready' });
