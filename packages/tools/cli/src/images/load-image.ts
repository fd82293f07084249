import { formatBytes } from '@kubus/images';
import { type ArchiveContent, importArchive, openArchive, readArchiveContent, untilListed } from '@kubus/node-images';
import { toError } from '@kubus/ports';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { ProgressLine } from '../output/progress-line.ts';
import { UserError } from '../user-error.ts';
import { fullImageName } from './image-names.ts';
import type { NodeRuntime } from './node-runtime.ts';

/** The platform of this machine's containers, as images name it. */
const PLATFORM = `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`;

/** What was loaded. */
export interface LoadedImages {
  /** Full names. */
  readonly names: readonly string[];
  /** Of the archive. */
  readonly bytes: number;
}

/**
 * Imports the images of an archive, which is checked first, so that a wrong one changes nothing.
 *
 * @param file path of the archive; `-`: standard input
 * @param name for an archive with one image that has none
 * @throws UserError that says what is wrong with the archive.
 */
export async function loadImages(runtime: NodeRuntime, file: string, name?: string): Promise<LoadedImages> {
  const archive = file === '-' ? await spool(runtime) : await open(file).catch(asUserError);
  const progress = new ProgressLine();
  try {
    const what = file === '-' ? 'the archive' : file;
    const content = await readArchiveContent(archive.fd).catch((error: unknown) => {
      throw new UserError(`${what}: ${toError(error).message}`, { cause: error });
    });
    const names = namesOf(content, what, name);
    const { size } = await archive.stat();
    const bytes = await openArchive(archive.fd);
    const counted = bytes.pipe(
      count((sum) => progress.show(`loading ${what}: ${formatBytes(sum)} of ${formatBytes(size)}`)),
    );
    bytes.on('error', (error) => counted.destroy(error));
    const into = { containerdSocket: runtime.socket, ctr: (await runtime.programs()).ctr };
    await importArchive(into, counted, name && fullImageName(name));
    await untilListed(runtime.socket, names);
    return { names, bytes: size };
  } finally {
    progress.end();
    await archive.close();
  }
}

/** The full names that the images will have. Throws a {@link UserError} when the archive cannot be used. */
function namesOf({ names, count, platforms }: ArchiveContent, what: string, name: string | undefined): string[] {
  if (platforms.length > 0 && !platforms.includes(PLATFORM)) {
    throw new UserError(`${what} has no image for ${PLATFORM}, only for ${platforms.join(', ')}`);
  }
  if (name !== undefined && count > 1) {
    throw new UserError(`${what} has ${count} images (${names.join(', ')}): --name can name only one`);
  }
  if (name === undefined && names.length === 0) {
    throw new UserError(`${what} does not say what its image is called: give it a name with --name`);
  }
  return (name === undefined ? names : [name]).map(fullImageName);
}

/** Standard input as a file of the node without a name, which the kernel removes when it is closed, or with this process. */
async function spool({ dir }: NodeRuntime): Promise<FileHandle> {
  const path = join(dir.images, `load-${process.pid}.tar`);
  const file = await open(path, 'wx+', 0o600);
  await rm(path);
  const progress = new ProgressLine();
  try {
    let sum = 0;
    for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
      await file.writeFile(chunk);
      progress.show(`receiving the archive: ${formatBytes((sum += chunk.length))}`);
    }
    return file;
  } catch (error) {
    await file.close();
    throw new UserError(`standard input: ${toError(error).message}`, { cause: error });
  } finally {
    progress.end();
  }
}

function count(onBytes: (sum: number) => void): Transform & Readable {
  let sum = 0;
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      onBytes((sum += chunk.length));
      done(null, chunk);
    },
  });
}

function asUserError(error: unknown): never {
  throw new UserError(toError(error).message, { cause: error });
}
