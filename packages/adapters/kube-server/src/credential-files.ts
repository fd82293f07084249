import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoring } from '@kubus/ports';
import { Authority } from '@kubus/certificates';
import { KEY_BYTES } from './sealed-objects.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long a certificate is valid that is issued at each start. */
export const CERTIFICATE_MS = 365 * DAY_MS;
const AUTHORITY_MS = 10 * CERTIFICATE_MS;

/** The certificate of the authority, PEM, in the folder of an API server. */
function authorityFile(folder: string): string {
  return join(folder, 'ca.crt');
}

/** The authority of an API server: that of its folder, which is created with mode 0700 if it does not exist. */
export async function openAuthority(folder: string): Promise<Authority> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // The certificate is written last: with it the key is there.
  const certificate = await ignoring(['ENOENT'], readFile(authorityFile(folder), 'utf8'));
  const keyFile = join(folder, 'ca.key');
  if (certificate !== undefined) return Authority.from({ certificate, key: await readFile(keyFile, 'utf8') });
  const authority = await Authority.create({ commonName: 'kubus-ca', lifetimeMs: AUTHORITY_MS });
  const pair = await authority.pair();
  await write(keyFile, pair.key);
  await write(authorityFile(folder), pair.certificate);
  return authority;
}

/** The key that encrypts Secrets. */
export async function openObjectsKey(folder: string): Promise<Buffer> {
  const text = await kept(join(folder, 'objects.key'), () => randomBytes(KEY_BYTES).toString('base64'));
  return Buffer.from(text, 'base64');
}

/** The key that signs service account tokens. */
export async function openTokenKey(folder: string): Promise<KeyObject> {
  const make = () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  };
  return createPrivateKey(await kept(join(folder, 'tokens.key'), make));
}

async function kept(path: string, make: () => string): Promise<string> {
  const before = await ignoring(['ENOENT'], readFile(path, 'utf8'));
  if (before !== undefined) return before;
  const made = make();
  await write(path, made);
  return made;
}

/** Never half of it. */
async function write(path: string, text: string): Promise<void> {
  const next = `${path}.new`;
  await writeFile(next, text, { mode: 0o600, flush: true });
  await rename(next, path);
}
