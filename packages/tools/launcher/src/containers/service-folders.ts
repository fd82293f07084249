import { type KeyedIdentity, STREAMS, identityFile } from '@kubus/bus-nats';
import { type Placement, placedServices } from '@kubus/service-kit';
import { chmod, chown, lchown, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolders } from '../node/node-dir.ts';
import { isSharedProcess } from '../node/node-services.ts';
import { type ContainerDir, servers } from './container-dir.ts';
import { KUBUS_USER, containerServices, userOf } from './container-services.ts';

/** Makes the folders of the services' containers, each with its owner, below those of the node. */
export async function makeServiceFolders(dir: ContainerDir, placement: Placement): Promise<void> {
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
    const user = userOf(service, placement);
    await ownFolder(dir.identity(service), 0o700, user, user);
    await ownState(dir.state(service), user);
    await ownControl(dir, service, user);
    if (servers.has(service)) await ownFolder(dir.sockets(service), 0o700, user, user);
  }
  for (const [process, user] of sharedUsers(placement)) {
    await ownFolder(dir.identity(process), 0o700, user, user);
    await ownControl(dir, process, user);
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

/** The processes with several services, and the user that the container of each runs as. */
function sharedUsers(placement: Placement): ReadonlyMap<string, number> {
  const users = [...placedServices(placement)].map(
    ([process, services]) => [process, Math.min(...services.map((service) => userOf(service, placement)))] as const,
  );
  return new Map(users);
}

/** With setgid, new files get the folder's group, so that the launcher can use the socket. */
async function ownControl(dir: ContainerDir, process: string, user: number): Promise<void> {
  await ownFolder(dirname(dir.control(process)), 0o2750, user, KUBUS_USER);
}

/** A service's state, with all that is in it when the service was another user's before: no service runs while its placement changes. */
async function ownState(path: string, user: number): Promise<void> {
  const before = await stat(path).catch(() => undefined);
  await ownFolder(path, 0o700, user, user);
  if (before === undefined || before.uid === user) return;
  for (const name of await readdir(path, { recursive: true })) await lchown(join(path, name), user, user);
}

/** Removes the keys of processes that the node no longer has. */
async function removeLeftKeys(dir: ContainerDir, placement: Placement): Promise<void> {
  const present = placedServices(placement);
  const folder = dirname(dir.identity('launcher'));
  const left = (await readdir(folder)).filter((name) => isSharedProcess(name) && !present.has(name));
  for (const name of left) await rm(join(folder, name), { recursive: true });
}

/** Copies the keys to the folders of the containers that have them. */
export async function copyIdentities(
  dir: ContainerDir,
  placement: Placement,
  identities: readonly KeyedIdentity[],
): Promise<void> {
  await removeLeftKeys(dir, placement);
  for (const identity of identities) await copyIdentity(dir, placement, identity);
}

/**
 * Copies a service's key to its own folder, to the launcher's that of the streams too, and the first instance's to the folder of the process
 * that it shares. The keys of users and readers stay in the common folder.
 */
async function copyIdentity(
  dir: ContainerDir,
  placement: Placement,
  { service, instance, seed }: KeyedIdentity,
): Promise<void> {
  const owner = containerServices.find((name) => name === (service === STREAMS ? 'launcher' : service));
  if (owner === undefined) return;
  const user = userOf(owner, placement);
  const shared = [...placedServices(placement)].filter(([, services]) => services.includes(owner));
  const processes = instance === `${owner}-0` ? shared.map(([process]) => process) : [];
  for (const name of [owner, ...processes]) {
    await putFile(identityFile(dir.identity(name), instance), `${seed}\n`, 0o600, user, user);
  }
}

/** Writes a file with this mode, group and owner, in place of the one before at once. */
export async function putFile(path: string, content: string, mode: number, group = 0, user = 0): Promise<void> {
  const unfinished = `${path}.new`;
  await rm(unfinished, { force: true });
  await writeFile(unfinished, content, { mode: 0o600 });
  await chown(unfinished, user, group);
  await chmod(unfinished, mode);
  await rename(unfinished, path);
}
