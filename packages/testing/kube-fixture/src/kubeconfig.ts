import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyPair } from './authority.ts';

/** The credentials of a client. */
export type Credential = { readonly token: string } | { readonly clientCertificate: KeyPair };

/** The content of a kubeconfig, as JSON, which YAML takes as it is. */
export function kubeconfigText(cluster: { url: string; authority?: string }, credential: Credential): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const user =
    'token' in credential
      ? { token: credential.token }
      : {
          'client-certificate-data': base64(credential.clientCertificate.certificate),
          'client-key-data': base64(credential.clientCertificate.key),
        };
  const { url, authority } = cluster;
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [
      {
        name: 'test',
        cluster: { server: url, ...(authority !== undefined && { 'certificate-authority-data': base64(authority) }) },
      },
    ],
    users: [{ name: 'test', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
  });
}

/** A folder of this process for kubeconfig files, which are readable by their owner alone. */
export class KubeconfigFolder {
  readonly #folder: string;
  #count = 0;

  static async make(): Promise<KubeconfigFolder> {
    return new KubeconfigFolder(await mkdtemp(join(tmpdir(), 'kubus-kubeconfig-')));
  }

  private constructor(folder: string) {
    this.#folder = folder;
  }

  async write(text: string): Promise<string> {
    const path = join(this.#folder, `${++this.#count}.kubeconfig`);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
