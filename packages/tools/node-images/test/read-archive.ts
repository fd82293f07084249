import { execFileSync } from 'node:child_process';

/** What an OCI archive holds, read by the machine's own tar. */
export interface ReadArchive {
  readonly manifestDigests: readonly string[];
  readonly manifest: { readonly config: Descriptor; readonly layers: readonly Descriptor[] };
  /** The image's configuration, unchanged. */
  readonly config: unknown;
  readonly layer: Buffer;
  readonly blob: (digest: string) => Buffer;
}

interface Descriptor {
  readonly digest: string;
  readonly size: number;
}

export function readArchive(archive: string): ReadArchive {
  const member = (path: string) => execFileSync('tar', ['-xOf', archive, path], { maxBuffer: 2 ** 26 });
  const blob = (digest: string) => member(`blobs/${digest.replace(':', '/')}`);
  const index = JSON.parse(member('index.json').toString()) as { manifests: Descriptor[] };
  const manifestDigests = index.manifests.map(({ digest }) => digest);
  const manifest = JSON.parse(blob(manifestDigests.join()).toString()) as ReadArchive['manifest'];
  const config: unknown = JSON.parse(blob(manifest.config.digest).toString());
  return { manifestDigests, manifest, config, layer: blob(manifest.layers.map(({ digest }) => digest).join()), blob };
}
