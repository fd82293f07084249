// An example of a driver of resource claims (resource.k8s.io/v1): it offers devices that are nothing but a name, and a container that
// has one finds it in its environment. See README.md.
import { parseArgs } from 'node:util';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  Server,
  ServerCredentials,
  type ServerWritableStream,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { type Claim, DRAPluginService, type Device } from '@kubus/proto/dra-grpc';
import { type DeviceHealth, DRAResourceHealthService } from '@kubus/proto/dra-health-grpc';
import { RegistrationService, type RegistrationStatus } from '@kubus/proto/plugin-registration';
import { Books } from './books.ts';
import { CdiFiles } from './cdi-files.ts';
import { ClusterClaims } from './cluster-claims.ts';
import { DeviceHealths } from './device-health.ts';

const { values } = parseArgs({
  options: {
    name: { type: 'string', default: 'devices.kubus.example' },
    node: { type: 'string' },
    devices: { type: 'string', default: '2' },
    kubeconfig: { type: 'string' },
    root: { type: 'string', default: '/var/lib/kubelet' },
    cdi: { type: 'string', default: '/var/run/cdi' },
    instance: { type: 'string' },
  },
});
const { name: driver, node, kubeconfig, root, cdi, instance } = values;
if (node === undefined || kubeconfig === undefined) throw new Error('--node NAME and --kubeconfig FILE are needed');

const folder = join(root, 'plugins', driver);
const registry = join(root, 'plugins_registry');
for (const each of [folder, registry, cdi]) await mkdir(each, { recursive: true });

const cluster = new ClusterClaims(kubeconfig, { driver, node });
const files = new CdiFiles(cdi, driver);
const books = await Books.open(join(folder, 'prepared.json'));

/** What a claim has already is answered again: a node may ask more than once. */
async function prepare(claim: Claim): Promise<Device[]> {
  const known = books.devicesOf(claim.uid);
  if (known !== undefined) return known;
  const allocated = await cluster.devicesOf(claim);
  const names = await files.write(
    claim.uid,
    allocated.map(({ device }) => device),
  );
  const devices = allocated.map(({ request, pool, device }): Device => ({
    requestNames: [request],
    poolName: pool,
    deviceName: device,
    cdiDeviceIds: [names(device)],
    shareId: undefined,
  }));
  await books.prepared(claim.uid, devices);
  return devices;
}

async function unprepare({ uid }: Claim): Promise<void> {
  await files.remove(uid);
  await books.unprepared(uid);
}

type Respond = (error: null, answer: unknown) => void;

/** Each claim has an answer of its own, an error too. One call after the other. */
let last: Promise<unknown> = Promise.resolve();
function perClaim(answer: (claim: Claim) => Promise<object>) {
  return ({ request }: { request: { claims: Claim[] } }, respond: Respond) => {
    last = last.then(async () => {
      const claims: Record<string, object> = {};
      for (const claim of request.claims) {
        claims[claim.uid] = await answer(claim).catch((error: unknown) => ({ devices: [], error: String(error) }));
      }
      respond(null, { claims });
    });
  };
}

const plugin = {
  nodePrepareResources: perClaim(async (claim) => ({ devices: await prepare(claim), error: '' })),
  nodeUnprepareResources: perClaim(async (claim) => {
    await unprepare(claim);
    return { error: '' };
  }),
} as unknown as UntypedServiceImplementation;

const healths = new DeviceHealths(join(folder, 'health', 'ill.json'), node, Number(values.devices));
const health = {
  nodeWatchResources: (call: ServerWritableStream<unknown, { devices: DeviceHealth[] }>) => {
    call.on(
      'close',
      healths.follow((devices) => call.write({ devices })),
    );
    call.on('cancelled', () => call.end());
  },
} as unknown as UntypedServiceImplementation;

/** Two processes of a driver, of which one replaces the other, have different sockets. */
const suffix = instance === undefined ? '' : `-${instance}`;
const socket = join(folder, `dra${suffix}.sock`);
const registration = {
  getInfo: (_: unknown, respond: Respond) =>
    respond(null, {
      type: 'DRAPlugin',
      name: driver,
      endpoint: socket,
      supportedVersions: ['v1.DRAPlugin', 'v1alpha1.DRAResourceHealth'],
    }),
  notifyRegistrationStatus: ({ request }: { request: RegistrationStatus }, respond: Respond) => {
    console.log(request.pluginRegistered ? 'registered' : `refused: ${request.error}`);
    respond(null, {});
    // Now that the node calls this driver, the scheduler may hand out its devices.
    if (request.pluginRegistered) void cluster.offer(Number(values.devices)).catch(report);
  },
} as unknown as UntypedServiceImplementation;

function report(error: unknown): void {
  console.error(String(error));
}

async function listen(path: string, ...services: readonly [ServiceDefinition, UntypedServiceImplementation][]) {
  await rm(path, { force: true });
  const server = new Server();
  for (const [service, serve] of services) server.addService(service, serve);
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  return server;
}

// The registration comes last: whoever finds its socket may call the other one.
const sockets = [socket, join(registry, `${driver}${suffix}-reg.sock`)];
await listen(socket, [DRAPluginService, plugin], [DRAResourceHealthService, health]);
await listen(sockets[1] ?? '', [RegistrationService, registration]);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // Without its sockets the node knows that it is gone; what is prepared stays, and the next process finds it in the books.
    void Promise.all(sockets.map((path) => rm(path, { force: true }))).then(() => process.exit(0));
  });
}
console.log(`${driver} serves on ${socket}`);
