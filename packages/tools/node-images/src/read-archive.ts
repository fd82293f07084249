import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { extract } from 'tar-stream';

/** The files of a tar archive, by path: an image's blobs are under `blobs/sha256/`, the list of its manifests is `index.json`. */
export async function readArchive(file: string): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  for await (const entry of createReadStream(file).pipe(extract())) {
    files.set(entry.header.name, await buffer(entry));
  }
  return files;
}
