import { type KeyedIdentity, STREAMS, identityFile, serverConfig } from '@kubus/bus-nats';
import { runtimeNetwork } from '@kubus/cni-config';
import { installShim, linkShimSocket } from '@kubus/cni/shim-install';
import type { NodeConfig } from '@kubus/service-kit';
import { chmod, chown, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { containerdConfig } from '../runtime/containerd-config.ts';
import { ensureIdentities } from '../nats/identities.ts';
import { NATS_PORT, serverNode } from '../nats/nats-server.ts';
import { createNodeDir, makeFolders } from '../node/node-dir.ts';
import { identitiesFolder } from '../node/node-settings.ts';
import { podNetwork } from '../network/pod-network.ts';
import { type ContainerSettings, containerConfig, nativeProgram } from './container-config.ts';
import { type ContainerDir, inContainer, linksOf, servers } from './container-dir.ts';
import { KUBUS_USER, containerServices, userOf } from './container-services.ts';
import { checkNoKubelet } from './kubelet-process.ts';
import { installTools } from './install-tools.ts';
import { checkRuntimeUse } from './runtime-use.ts';

/**
 * Creates everything the containers of a node need on its machine: folders with their owners, identities, the configuration of services, NATS
 * server and runtime, the shim and the command line. Harmless to repeat, also while the node is running: keys are kept, and files are
 * replaced atomically.
 *
 * @throws as {@link containerConfig}, {@link checkNoKubelet} and {@link checkRuntimeUse}.
 */
export async function install(dir: ContainerDir, settings: ContainerSettings): Promise<NodeConfig> {
  const config = containerConfig(dir, settings);
  if (settings.besideKubelet === false) await checkNoKubelet();
  const { socket } = config.runtime;
  // No other agent can reach the node's own runtime.
  if (socket !== dir.socket('containerd') && settings.sharedRuntime !== true) {
    await checkRuntimeUse(socket, config.pods.logs);
  }
  await createNodeDir(dir);
  await makeServiceFolders(dir);
  const identities = await ensureIdentities(identitiesFolder(dir), config.instances);
  for (const identity of identities) await copyIdentity(dir, identity);
  await putFile(dir.natsConfig, natsConfig(dir, identities, settings.natsUrl), 0o644);
  // Readable by the unprivileged services' group only, since an overlay may contain secrets.
  await putFile(join(dir.sharedConfig, 'node.json'), `${JSON.stringify(config, undefined, 2)}\n`, 0o640, KUBUS_USER);
  await putFile(join(dir.cni.handlerConf, '10-kubus.conflist'), runtimeNetwork(), 0o644);
  await putFile(join(dir.cni.networks, '10-pods.conflist'), podNetwork({ dataDir: dir.cni.data, wayOut: true }), 0o644);
  // containerd 2.x reads the configuration of 1.x too.
  await putFile(dir.containerd.config, containerdConfig({ dir, major: 1 }), 0o644);
  await installShim(nativeProgram('kubus-cni'), dir.cni.bin);
  await linkShimSocket(dir.cni.bin, dir.socket('cni'));
  await installTools(dir.tools);
  for (const [path, target] of linksOf(dir)) await putLink(path, target);
  return config;
}

async function makeServiceFolders(dir: ContainerDir): Promise<void> {
  await makeFolders([
    [dirname(dir.natsConfig), 0o755],
    [dir.sharedConfig, 0o755],
    [dir.plugins, 0o755],
    [dirname(dir.identity('launcher')), 0o755],
    [dirname(dir.sockets('node-api')), 0o711],
    [join(dir.run, 'control'), 0o711],
    [dirname(dir.socket('containerd')), 0o700],
  ]);
  for (const service of containerServices) {
    const user = userOf(service);
    await ownFolder(dir.identity(service), 0o700, user, user);
    await ownFolder(dir.state(service), 0o700, user, user);
    // With setgid, new files get the folder's group, so that the launcher can use the socket.
    await ownFolder(dirname(dir.control(service)), 0o2750, user, KUBUS_USER);
    if (servers.has(service)) await ownFolder(dir.sockets(service), 0o700, user, user);
  }
  await ownFolder(dir.natsData, 0o700, KUBUS_USER, KUBUS_USER);
  // With setgid: node-agent writes the files, and unprivileged services read them.
  await ownFolder(dir.credentials, 0o2750, userOf('node-agent'), KUBUS_USER);
}

async function ownFolder(path: string, mode: number, user: number, group: number): Promise<void> {
  await mkdir(path, { recursive: true });
  await chown(path, user, group);
  // After chown, which clears the setgid bit.
  await chmod(path, mode);
}

/** Copies a service's key to its own folder, to the launcher's that of the streams too. The keys of users and readers stay in the common folder. */
async function copyIdentity(dir: ContainerDir, { service, instance, seed }: KeyedIdentity): Promise<void> {
  const owner = containerServices.find((name) => name === (service === STREAMS ? 'launcher' : service));
  if (owner === undefined) return;
  const user = userOf(owner);
  await putFile(identityFile(dir.identity(owner), instance), `${seed}\n`, 0o600, user, user);
}

function natsConfig(dir: ContainerDir, identities: readonly KeyedIdentity[], url: string): string {
  return serverConfig({
    host: '127.0.0.1',
    port: Number(new URL(url).port || NATS_PORT),
    storeDir: inContainer.natsData,
    serverName: dir.node,
    nodes: [serverNode(dir.node, identities)],
  });
}

async function putFile(path: string, content: string, mode: number, group = 0, user = 0): Promise<void> {
  const unfinished = `${path}.new`;
  await rm(unfinished, { force: true });
  await writeFile(unfinished, content, { mode: 0o600 });
  await chown(unfinished, user, group);
  await chmod(unfinished, mode);
  await rename(unfinished, path);
}

async function putLink(path: string, target: string): Promise<void> {
  const unfinished = `${path}.new`;
  await rm(unfinished, { force: true });
  await symlink(target, unfinished);
  await rename(unfinished, path);
}
