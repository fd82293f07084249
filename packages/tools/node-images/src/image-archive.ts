import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { toError } from '@kubus/ports';
import { extract } from 'tar-stream';
import { NodeImageError } from './errors.ts';

/** What an archive of images contains. */
export interface ArchiveContent {
  /** Full names, such as `docker.io/library/busybox:1.35`; none when the archive does not name its image. */
  readonly names: readonly string[];
  /** Number of images. */
  readonly count: number;
  /** Platforms of all images, such as `linux/amd64`; empty when the archive does not say. */
  readonly platforms: readonly string[];
}

/** An archive as a seekable file: a path, or a file descriptor that stays open. */
export type ArchiveFile = string | number;

/** Documents of images are small; larger files are layers. In bytes. */
const LARGEST_DOCUMENT = 1024 * 1024;
/** All documents of an archive together, in bytes. */
const LARGEST_SUM = 32 * 1024 * 1024;
/** An index may list indexes; deeper nesting is ignored. */
const DEEPEST = 3;
const GZIP = Buffer.from([0x1f, 0x8b]);

/** What documents of images have in common: everything may be missing, because it comes from outside. */
interface Descriptor {
  readonly digest?: string;
  readonly platform?: { readonly os?: string; readonly architecture?: string };
  readonly annotations?: Readonly<Record<string, string>>;
}
interface Document {
  readonly manifests?: readonly Descriptor[];
  readonly config?: Descriptor;
  readonly os?: string;
  readonly architecture?: string;
}
/** An entry of `manifest.json` of a docker archive. */
interface DockerImage {
  readonly Config?: string;
  readonly RepoTags?: readonly string[] | null;
}

/** The bytes of a tar file, unpacked if it is compressed with gzip. */
export async function openArchive(file: ArchiveFile): Promise<Readable> {
  const range = (end?: number) =>
    createReadStream(typeof file === 'string' ? file : '', {
      ...(typeof file === 'number' && { fd: file, autoClose: false }),
      start: 0,
      ...(end !== undefined && { end }),
    });
  const magic = await buffer(range(GZIP.length - 1));
  if (!magic.equals(GZIP)) return range();
  const bytes = range();
  const unpacked = createGunzip();
  bytes.on('error', (error) => unpacked.destroy(error));
  return bytes.pipe(unpacked);
}

/**
 * Reads what an archive contains: an OCI image layout, or what `docker save` writes, as one tar file.
 *
 * @throws NodeImageError `BadArchive`.
 */
export async function readArchiveContent(file: ArchiveFile): Promise<ArchiveContent> {
  try {
    const documents = await readDocuments(file);
    const index = parse<Document>(documents, 'index.json');
    // containerd, too, prefers the index where there are both.
    if (index !== undefined) return contentOfIndex(index, documents);
    const images = parse<DockerImage[]>(documents, 'manifest.json');
    if (images !== undefined) return contentOfDocker(images, documents);
  } catch (error) {
    throw new NodeImageError('BadArchive', `it cannot be read: ${toError(error).message}`, { cause: error });
  }
  throw new NodeImageError('BadArchive', 'it has neither index.json (OCI) nor manifest.json (docker save)');
}

/** The small files of the archive, by path. */
async function readDocuments(file: ArchiveFile): Promise<Map<string, Buffer>> {
  const documents = new Map<string, Buffer>();
  let sum = 0;
  const bytes = await openArchive(file);
  const entries = extract();
  bytes.on('error', (error) => entries.destroy(error));
  for await (const entry of bytes.pipe(entries)) {
    const { name, type, size } = entry.header;
    if (type === 'file' && size <= LARGEST_DOCUMENT && sum + size <= LARGEST_SUM) {
      sum += size;
      documents.set(name.replace(/^\.\//, ''), await buffer(entry));
    } else entry.resume();
  }
  return documents;
}

function contentOfIndex({ manifests = [] }: Document, documents: Map<string, Buffer>): ArchiveContent {
  const names = manifests.flatMap(({ annotations }) => nameOf(annotations) ?? []);
  const platforms = manifests.flatMap((descriptor) => platformsOf(descriptor, documents, 0));
  return { names: unique(names), count: Math.max(unique(names).length, 1), platforms: unique(platforms) };
}

/** The second annotation is often only a tag. */
function nameOf(annotations: Descriptor['annotations'] = {}): string | undefined {
  const given = annotations['org.opencontainers.image.ref.name'];
  return annotations['io.containerd.image.name'] ?? (/[/:]/.test(given ?? '') ? given : undefined);
}

function platformsOf({ digest = '', platform }: Descriptor, documents: Map<string, Buffer>, depth: number): string[] {
  if (platform?.os !== undefined) return platformOf(platform);
  const document = parse<Document>(documents, `blobs/${digest.replace(':', '/')}`);
  if (document === undefined || depth > DEEPEST) return [];
  const { manifests = [], config } = document;
  if (manifests.length > 0) return manifests.flatMap((one) => platformsOf(one, documents, depth + 1));
  return config === undefined ? platformOf(document) : platformsOf(config, documents, depth + 1);
}

function platformOf({ os, architecture }: { os?: string; architecture?: string }): string[] {
  // Attestations of builds are listed as images of an unknown platform.
  return os === undefined || architecture === undefined || os === 'unknown' ? [] : [`${os}/${architecture}`];
}

function contentOfDocker(images: readonly DockerImage[], documents: Map<string, Buffer>): ArchiveContent {
  return {
    names: unique(images.flatMap(({ RepoTags }) => RepoTags ?? [])),
    count: images.length,
    platforms: unique(images.flatMap(({ Config = '' }) => platformOf(parse<Document>(documents, Config) ?? {}))),
  };
}

function parse<T>(documents: Map<string, Buffer>, path: string): T | undefined {
  const text = documents.get(path);
  return text === undefined ? undefined : (JSON.parse(text.toString('utf8')) as T);
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
