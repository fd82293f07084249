import { type KeyedIdentity, serverConfig } from '@kubus/bus-nats';
import { runtimeNetwork } from '@kubus/cni-config';
import { installShim, linkShimSocket } from '@kubus/cni/shim-install';
import type { NodeConfig } from '@kubus/service-kit';
import { rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { containerdConfig } from '../runtime/containerd-config.ts';
import { ensureIdentities } from '../nats/identities.ts';
import { NATS_PORT, serverNode } from '../nats/nats-server.ts';
import { createNodeDir } from '../node/node-dir.ts';
import { identitiesFolder } from '../node/node-settings.ts';
import { podNetwork } from '../network/pod-network.ts';
import { type ContainerSettings, containerConfig, nativeProgram } from './container-config.ts';
import { type ContainerDir, inContainer, linksOf } from './container-dir.ts';
import { KUBUS_USER } from './container-services.ts';
import { checkNoKubelet } from './kubelet-process.ts';
import { installTools } from './install-tools.ts';
import { checkRuntimeUse } from './runtime-use.ts';
import { copyIdentities, makeServiceFolders, putFile } from './service-folders.ts';

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
  await makeServiceFolders(dir, config.placement);
  const identities = await ensureIdentities(identitiesFolder(dir), config.instances);
  await copyIdentities(dir, config.placement, identities);
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

function natsConfig(dir: ContainerDir, identities: readonly KeyedIdentity[], url: string): string {
  return serverConfig({
    host: '127.0.0.1',
    port: Number(new URL(url).port || NATS_PORT),
    storeDir: inContainer.natsData,
    serverName: dir.node,
    nodes: [serverNode(dir.node, identities)],
  });
}

async function putLink(path: string, target: string): Promise<void> {
  const unfinished = `${path}.new`;
  await rm(unfinished, { force: true });
  await symlink(target, unfinished);
  await rename(unfinished, path);
}
