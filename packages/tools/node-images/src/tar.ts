import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';

interface Owned {
  readonly path: string;
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * One entry of a tar file; its path has no leading slash. Defaults: owner root, mode 0755 for directories and 0644 for files.
 */
export type TarEntry =
  | (Owned & { readonly type: 'directory' })
  | (Owned & { readonly type: 'file'; readonly content: Uint8Array | string })
  | { readonly type: 'symlink'; readonly path: string; readonly target: string };

/** 1970: tar files of the same content are the same bytes, whenever and wherever they are made. */
const mtime = new Date(0);

/** The tar file of `entries`, in their order. */
export async function tar(entries: readonly TarEntry[]): Promise<Buffer> {
  const archive = pack();
  const bytes = buffer(archive);
  for (const entry of entries) {
    switch (entry.type) {
      case 'directory':
        archive.entry({ type: 'directory', mode: 0o755, ...named(entry), name: `${entry.path}/` });
        break;
      case 'file':
        archive.entry({ type: 'file', mode: 0o644, ...named(entry) }, Buffer.from(entry.content));
        break;
      case 'symlink':
        archive.entry({ type: 'symlink', mode: 0o777, name: entry.path, linkname: entry.target, mtime });
        break;
    }
  }
  archive.finalize();
  return bytes;
}

function named({ path, mode, uid = 0, gid = 0 }: Owned) {
  return { name: path, uid, gid, mtime, ...(mode !== undefined && { mode }) };
}
