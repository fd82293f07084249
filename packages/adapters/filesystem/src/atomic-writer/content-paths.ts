import { KubusError } from '@kubus/ports';

/** Thrown when a file cannot be written under the requested path. The message is the reference kubelet's. */
export class ContentPathError extends KubusError {
  constructor(message: string, path: string) {
    super('bad-path', message, { context: { path } });
  }
}

const LONGEST_PATH = 4096;
const LONGEST_NAME = 255;

/**
 * Paths that leave their folder, use names that the writer reserves (they start with two dots), or lead through each other,
 * are refused (behaviour:volumes, secret). Throws {@link ContentPathError}.
 *
 * @returns the paths without empty and `.` parts, in the order given
 */
export function checkPaths(paths: readonly string[]): string[] {
  const cleaned = paths.map(cleanPath);
  const files = new Set(cleaned);
  for (const path of cleaned) {
    const through = foldersAbove(path).find((folder) => files.has(folder));
    if (through !== undefined) {
      throw new ContentPathError(`invalid path: ${through} is a file, and cannot hold ${path}`, path);
    }
  }
  return cleaned;
}

/** The parent folders of a path, outermost first. */
export function foldersAbove(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

function cleanPath(path: string): string {
  const problem = problemOf(path);
  if (problem !== undefined) throw new ContentPathError(`invalid path: ${problem}`, path);
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.length === 0) throw new ContentPathError(`invalid path: must name a file: ${path}`, path);
  return parts.join('/');
}

function problemOf(path: string): string | undefined {
  if (path === '') return 'must not be empty: ""';
  if (path.startsWith('/')) return `must be relative path: ${path}`;
  if (Buffer.byteLength(path) > LONGEST_PATH) return `must be less than or equal to ${LONGEST_PATH} characters`;
  if (path.includes('\0')) return 'must not contain a null byte';
  const parts = path.split('/');
  if (parts.includes('..')) return `must not contain '..': ${path}`;
  if (parts.some((part) => Buffer.byteLength(part) > LONGEST_NAME)) {
    return `filenames must be less than or equal to ${LONGEST_NAME} characters`;
  }
  const [first = ''] = parts.filter((part) => part !== '' && part !== '.');
  return first.startsWith('..') ? `must not start with '..': ${path}` : undefined;
}
