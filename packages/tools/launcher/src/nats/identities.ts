import {
  type Identity,
  type KeyedIdentity,
  READER,
  STREAMS,
  createIdentity,
  identityFile,
  publicKeyOf,
  readSeed,
  streamsInstance,
} from '@kubus/bus-nats';
import { type SharedService, serviceNames, sharedServices } from '@kubus/contracts';
import { ignoring } from '@kubus/ports';
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';

/** Number of instances of the services that share the pods. Default of each: 1. */
export type InstanceCounts = Readonly<Partial<Record<SharedService, number>>>;

/** Whether the instances of the service share the pods. */
export function isShared(service: string): service is SharedService {
  return (sharedServices as readonly string[]).includes(service);
}

/** The names of a service's instances, slot 0 first. */
export function instancesOf(service: string, counts: InstanceCounts): string[] {
  const count = isShared(service) ? (counts[service] ?? 1) : 1;
  return Array.from({ length: count }, (_, slot) => `${service}-${slot}`);
}

/** The identities that a node needs: one per service instance, one for programs that only read, and one for the streams. */
function nodeIdentities(counts: InstanceCounts): Identity[] {
  const services = serviceNames.flatMap((service) =>
    instancesOf(service, counts).map((instance) => ({ service, instance })),
  );
  return [...services, { service: READER, instance: `${READER}-0` }, { service: STREAMS, instance: streamsInstance }];
}

/** Creates the missing keys; existing keys are kept, since a running node uses them. Returns all identities in the folder. */
export async function ensureIdentities(folder: string, counts: InstanceCounts = {}): Promise<KeyedIdentity[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const wanted = nodeIdentities(counts);
  const further = (await readdir(folder)).flatMap((file): Identity[] => {
    const { service, instance } = /^(?<instance>(?<service>[a-z-]+)-\d+)\.nk$/.exec(file)?.groups ?? {};
    const name = [...serviceNames, READER].find((one): one is Identity['service'] => one === service);
    const known = instance === undefined || wanted.some((identity) => identity.instance === instance);
    return name === undefined || known ? [] : [{ service: name, instance }];
  });
  return Promise.all([...wanted, ...further].map((identity) => ensureIdentity(folder, identity)));
}

/** The names of required identities whose keys are missing in the folder. */
export async function missingIdentities(folder: string, counts: InstanceCounts): Promise<string[]> {
  const present = await readdir(folder).catch((): string[] => []);
  const names = nodeIdentities(counts).map(({ instance }) => instance);
  return names.filter((instance) => !present.includes(basename(identityFile('', instance))));
}

async function ensureIdentity(folder: string, identity: Identity): Promise<KeyedIdentity> {
  const seed = await ignoring('ENOENT', readSeed(folder, identity.instance));
  if (seed !== undefined) return { ...identity, seed, publicKey: publicKeyOf(seed) };
  const file = identityFile(folder, identity.instance);
  const made = createIdentity(identity);
  await writeFile(`${file}.new`, `${made.seed}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return made;
}
