/** What exists at a path, links followed. */
export type FileKind = 'directory' | 'file' | 'socket' | 'character device' | 'block device' | 'other';

/** What to do for a hostPath volume. */
export type HostPathStep =
  | { readonly kind: 'use' }
  /** Create it, including parent folders for a directory, and use it. */
  | { readonly kind: 'make'; readonly what: 'directory' | 'file'; readonly mode: number }
  | { readonly kind: 'refuse'; readonly error: string };

const WANTED: Readonly<Record<string, { what: FileKind; text: string; mode?: number }>> = {
  Directory: { what: 'directory', text: 'a directory' },
  DirectoryOrCreate: { what: 'directory', text: 'a directory', mode: 0o755 },
  File: { what: 'file', text: 'a file' },
  FileOrCreate: { what: 'file', text: 'a file', mode: 0o644 },
  Socket: { what: 'socket', text: 'a socket file' },
  CharDevice: { what: 'character device', text: 'a character device' },
  BlockDevice: { what: 'block device', text: 'a block device' },
};

/**
 * What a hostPath volume of this type requires, when `found` exists at its path (behaviour:volumes, hostPath). Without a
 * type nothing is checked: the runtime creates a missing folder.
 */
export function hostPathStep(path: string, type: string, found: FileKind | undefined): HostPathStep {
  if (path.split('/').includes('..')) {
    return { kind: 'refuse', error: `invalid HostPath \`${path}\`: must not contain '..'` };
  }
  if (type === '') return { kind: 'use' };
  const wanted = WANTED[type];
  if (wanted === undefined) return { kind: 'refuse', error: `${type} is an invalid volume type` };
  const { what, text, mode } = wanted;
  if (found === what) return { kind: 'use' };
  if (found === undefined && mode !== undefined && (what === 'directory' || what === 'file')) {
    return { kind: 'make', what, mode };
  }
  return { kind: 'refuse', error: `hostPath type check failed: ${path} is not ${text}` };
}
