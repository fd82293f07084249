import { type BuiltImage, readArchive } from '@kubus/node-images';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}
interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

/** The parts of a built image. */
async function partsOf(
  image: BuiltImage,
): Promise<{ manifest: Manifest; config: object; layer: Buffer; own: Descriptor }> {
  const files = await readArchive(image.archive);
  const blob = (digest: string) => files.get(pathOf(digest)) ?? Buffer.alloc(0);
  const { manifests } = JSON.parse(String(files.get('index.json'))) as { manifests: [Descriptor] };
  const [own] = manifests;
  const manifest = JSON.parse(String(blob(own.digest))) as Manifest;
  const config = JSON.parse(String(blob(manifest.config.digest))) as object;
  return { manifest, config, layer: blob(manifest.layers[0]?.digest ?? ''), own };
}

/** The image as `docker save` of a docker before 25 writes it. */
export async function dockerArchive(folder: string, image: BuiltImage, repoTags: readonly string[]): Promise<string> {
  const { config, layer } = await partsOf(image);
  const id = hexOf(JSON.stringify(config));
  return pack(folder, 'docker', {
    [`${id}.json`]: JSON.stringify(config),
    [`${id}/layer.tar`]: layer,
    'manifest.json': JSON.stringify([{ Config: `${id}.json`, RepoTags: repoTags, Layers: [`${id}/layer.tar`] }]),
  });
}

/**
 * An OCI archive with the image for this machine and for others, whose index is within that of the archive, as docker buildx writes it.
 *
 * @param annotations of the entry, which may name it
 * @param architectures default: this machine's and another one's
 */
export async function multiPlatformArchive(
  folder: string,
  image: BuiltImage,
  options: { annotations: Readonly<Record<string, string>>; without?: string },
): Promise<string> {
  const { manifest, config, layer } = await partsOf(image);
  const files: Record<string, string | Buffer> = {};
  const add = (content: string | Buffer, mediaType: string): Descriptor => {
    const digest = `sha256:${hexOf(content)}`;
    files[pathOf(digest)] = content;
    return { mediaType, digest, size: Buffer.byteLength(content) };
  };
  const index = 'application/vnd.oci.image.index.v1+json';
  add(layer, '');
  const manifests = ['amd64', 'arm64', 'riscv64']
    .filter((architecture) => architecture !== options.without)
    .map((architecture) => {
      const own = add(JSON.stringify({ ...config, architecture }), manifest.config.mediaType);
      const described = add(JSON.stringify({ ...manifest, config: own }), 'application/vnd.oci.image.manifest.v1+json');
      return { ...described, platform: { os: 'linux', architecture } };
    });
  const inner = add(JSON.stringify({ schemaVersion: 2, mediaType: index, manifests }), index);
  files['oci-layout'] = JSON.stringify({ imageLayoutVersion: '1.0.0' });
  files['index.json'] = JSON.stringify({
    ...{ schemaVersion: 2, mediaType: index },
    manifests: [{ ...inner, annotations: options.annotations }],
  });
  return pack(folder, `oci-${hexOf(files['index.json']).slice(0, 8)}`, files);
}

async function pack(folder: string, name: string, files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const content = join(folder, name);
  for (const [path, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(content, path)), { recursive: true });
    await writeFile(join(content, path), bytes);
  }
  execFileSync('tar', ['-cf', `${content}.tar`, '-C', content, '.']);
  return `${content}.tar`;
}

function pathOf(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

function hexOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
