import { type Identity, type KeyedIdentity, createIdentity, identityFile, publicKeyOf } from '@kubus/bus-nats';
import { serviceNames } from '@kubus/contracts';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';

/** One identity per service; each has its slot 0. */
export const nodeIdentities: readonly Identity[] = serviceNames.map((service) => ({
  service,
  instance: `${service}-0`,
}));

/** Makes the keys that are missing; the others stay, so that a running node can go on using them. */
export async function ensureIdentities(folder: string): Promise<KeyedIdentity[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return Promise.all(nodeIdentities.map((identity) => ensureIdentity(folder, identity)));
}

async function ensureIdentity(folder: string, identity: Identity): Promise<KeyedIdentity> {
  const file = identityFile(folder, identity.instance);
  const seed = await readFile(file, 'utf8').catch(() => undefined);
  if (seed !== undefined) return { ...identity, seed: seed.trim(), publicKey: publicKeyOf(seed.trim()) };
  const made = createIdentity(identity);
  await writeFile(`${file}.new`, `${made.seed}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return made;
}
