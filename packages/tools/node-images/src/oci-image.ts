import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { cacheFile } from './cache-file.ts';
import { NodeImageError } from './errors.ts';
import { type TarEntry, tar } from './tar.ts';

/** The content of an image and how its container starts. */
export interface ImageSpec {
  /** Full name as a pod names it after normalisation: registry, repository and tag. */
  readonly reference: string;
  /** Paths without a leading slash. Missing parent folders are added, owned by root, 0755. */
  readonly files: readonly TarEntry[];
  /** `uid`, `uid:gid` or a user name from the image's /etc/passwd. Default: root. */
  readonly user?: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly workingDir?: string;
  /** As in `8080/tcp`. */
  readonly exposedPorts?: readonly string[];
  /** A signal's name, such as `SIGUSR1`. */
  readonly stopSignal?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Paths that the image declares as volumes. */
  readonly volumes?: readonly string[];
}

/** An image as an OCI archive on disk. */
export interface BuiltImage {
  readonly reference: string;
  /** Digest of the manifest: what `image@sha256:...` names. */
  readonly digest: string;
  /** Digest of the configuration: what CRI calls the image's id. */
  readonly id: string;
  /** The tar file. */
  readonly archive: string;
}

const mediaType = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
};

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/**
 * Builds a one-layer image for this machine's architecture as an OCI archive in `outDir` (OCI image layout 1.0.0, packed
 * as one tar file). The same spec gives the same bytes and the same digest; the file's name carries the digest, so an
 * image that is there already is not written again, and builders in several processes may share the folder.
 */
export async function buildImage(spec: ImageSpec, outDir: string): Promise<BuiltImage> {
  const layer = await tar(withParents(spec.files));
  const config = json(imageConfig(spec, digestOf(layer)));
  const manifest = json({
    schemaVersion: 2,
    mediaType: mediaType.manifest,
    config: descriptor(mediaType.config, config),
    layers: [descriptor(mediaType.layer, layer)],
  });
  const index = json({
    schemaVersion: 2,
    mediaType: mediaType.index,
    manifests: [
      {
        ...descriptor(mediaType.manifest, manifest),
        platform: platform(),
        // containerd names the image after the first, other tools after the second.
        annotations: {
          'io.containerd.image.name': spec.reference,
          'org.opencontainers.image.ref.name': spec.reference.slice(spec.reference.lastIndexOf(':') + 1),
        },
      },
    ],
  });
  const blobs = [layer, config, manifest].map((content): TarEntry => {
    return { type: 'file', path: `blobs/sha256/${digestOf(content).slice('sha256:'.length)}`, content };
  });
  const archive = await tar([
    { type: 'file', path: 'oci-layout', content: json({ imageLayoutVersion: '1.0.0' }) },
    { type: 'file', path: 'index.json', content: index },
    { type: 'directory', path: 'blobs' },
    { type: 'directory', path: 'blobs/sha256' },
    ...blobs,
  ]);
  const file = join(outDir, `${fileName(spec.reference)}-${digestOf(archive).slice(7, 19)}.tar`);
  await cacheFile(file, (partial) => writeFile(partial, archive));
  return { reference: spec.reference, digest: digestOf(manifest), id: digestOf(config), archive: file };
}

function imageConfig(spec: ImageSpec, layerDigest: string): object {
  return {
    created: '1970-01-01T00:00:00Z',
    ...platform(),
    config: {
      User: spec.user,
      ExposedPorts: spec.exposedPorts && asSet(spec.exposedPorts),
      Env: Object.entries(spec.env ?? {}).map(([name, value]) => `${name}=${value}`),
      Entrypoint: spec.entrypoint,
      Cmd: spec.command,
      Volumes: spec.volumes && asSet(spec.volumes),
      WorkingDir: spec.workingDir,
      Labels: spec.labels,
      StopSignal: spec.stopSignal,
    },
    rootfs: { type: 'layers', diff_ids: [layerDigest] },
  };
}

function platform(): { architecture: string; os: string } {
  const architecture = architectures[process.arch];
  if (architecture === undefined) {
    throw new NodeImageError(
      'UnsupportedArchitecture',
      `Images can be built on x64 and arm64 only, this is ${process.arch}: use another machine`,
    );
  }
  return { architecture, os: 'linux' };
}

/** The image configuration writes a set as an object with empty values. */
function asSet(names: readonly string[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [name, {}]));
}

/** `entries` with every missing parent folder before its first child, each path once. */
function withParents(entries: readonly TarEntry[]): TarEntry[] {
  const known = new Set(entries.filter((entry) => entry.type === 'directory').map((entry) => entry.path));
  return entries.flatMap((entry) => {
    const missing: TarEntry[] = [];
    for (let path = posix.dirname(entry.path); path !== '.' && !known.has(path); path = posix.dirname(path)) {
      known.add(path);
      missing.unshift({ type: 'directory', path });
    }
    return [...missing, entry];
  });
}

function descriptor(type: string, content: Buffer): { mediaType: string; digest: string; size: number } {
  return { mediaType: type, digest: digestOf(content), size: content.length };
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** `registry.k8s.io/pause:3.10` gives `pause-3.10`. */
function fileName(reference: string): string {
  return posix.basename(reference).replaceAll(':', '-');
}
