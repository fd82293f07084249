import { hasErrno } from '@kubus/ports';
import { X509Certificate } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The validity of a certificate, in milliseconds since the Unix epoch. */
export interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

/** @param text PEM, the certificate first. @throws when it contains none */
export function validityOf(text: string | Buffer): Validity {
  const { validFromDate, validToDate } = new X509Certificate(text);
  return { notBefore: validFromDate.getTime(), notAfter: validToDate.getTime() };
}

/**
 * The node's own certificates on disk, in the layout of the reference: certificate and key in one file for each, a link to
 * the current one, and the key of a certificate that is still requested. See {@link writePrivate} for the permissions.
 */
export class CertificateStore {
  /** The path that kubeconfigs name. */
  readonly current: string;
  readonly #dir: string;
  readonly #name: string;
  readonly #pendingKey: string;

  /** @param usage client certificates or serving certificates */
  constructor(dir: string, usage: 'client' | 'server' = 'client') {
    this.#dir = dir;
    this.#name = `kubelet-${usage}`;
    this.current = join(dir, `${this.#name}-current.pem`);
    this.#pendingKey = join(dir, `${this.#name}.key.tmp`);
  }

  /** The key that an unfinished request was made with. */
  async pendingKey(): Promise<string | undefined> {
    return readFile(this.#pendingKey, 'utf8').catch((thrown: unknown) => {
      if (hasErrno(thrown, 'ENOENT')) return undefined;
      throw thrown;
    });
  }

  async keepPendingKey(key: string): Promise<void> {
    await writePrivate(this.#pendingKey, key);
  }

  async dropPendingKey(): Promise<void> {
    await rm(this.#pendingKey, { force: true });
  }

  /** Makes the pair the current one. After a crash either the previous one or this one is current. */
  async put(certificate: string, key: string, now: number): Promise<void> {
    const time = new Date(now).toISOString().slice(0, 19).replace(/[T:]/g, '-');
    const file = `${this.#name}-${time}.pem`;
    await writePrivate(join(this.#dir, file), `${certificate.trimEnd()}\n${key}`);
    const link = join(this.#dir, `${this.#name}-updated.pem`);
    await rm(link, { force: true });
    await symlink(file, link);
    await rename(link, this.current);
  }
}

/** The bit of a folder that passes its group on to the files in it. Source: inode(7). */
const GROUPS_FILES = 0o2000;

/**
 * Replaces a file that holds a secret, as a whole. Only its owner can read it; in a folder that passes its group on to its files, the
 * group can read it too: services in containers share the node's credentials that way.
 */
export async function writePrivate(path: string, text: string): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  const isShared = ((await stat(folder)).mode & GROUPS_FILES) !== 0;
  const next = `${path}.new`;
  await rm(next, { force: true });
  const file = await open(next, 'wx', isShared ? 0o640 : 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(next, path);
}
