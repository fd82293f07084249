import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { toError } from '@kubus/ports';
import { callCriOnce } from './cri-call.ts';
import { NodeImageError } from './errors.ts';
import type { BuiltImage } from './oci-image.ts';

const run = promisify(execFile);
/** How often CRI is asked for an imported image, and for how long, in milliseconds. */
const polling = { everyMs: 5, atMostMs: 10_000 };

/** The containerd into which images are imported. */
export interface ImportInto {
  /** Absolute path of containerd's socket, which also serves CRI. */
  readonly containerdSocket: string;
  /** Path of the `ctr` of that containerd. Default: `ctr` from PATH. */
  readonly ctr?: string;
}

/**
 * Imports and unpacks the archives of images, and returns when CRI lists the images. Harmless to repeat.
 *
 * @throws NodeImageError as {@link importArchive} and {@link untilListed}.
 */
export async function importImages({
  images,
  ...into
}: ImportInto & { readonly images: readonly Pick<BuiltImage, 'reference' | 'archive'>[] }): Promise<void> {
  for (const { archive } of images) await importArchive(into, createReadStream(archive));
  await untilListed(
    into.containerdSocket,
    images.map(({ reference }) => reference),
  );
}

/**
 * Imports the images of an archive (OCI or docker) and unpacks those of this machine's platform.
 *
 * @param archive the tar file
 * @param name the full name that the archive's index gets; of the names in the archive only tags of this repository are kept
 * @throws NodeImageError `ImportFailed` with ctr's messages.
 */
export async function importArchive(
  { containerdSocket, ctr = 'ctr' }: ImportInto,
  archive: Readable,
  name?: string,
): Promise<void> {
  const named = name === undefined ? [] : ['--index-name', name, '--base-name', name.replace(/(:[^:/@]*)?(@.*)?$/, '')];
  const args = ['--address', containerdSocket, '--namespace', 'k8s.io', 'images', 'import', ...named, '-'];
  const child = spawn(ctr, args, { stdio: ['pipe', 'ignore', 'pipe'] });
  const said = text(child.stderr);
  const ended = once(child, 'close') as Promise<[number | null]>;
  // When ctr ends early its own message says why.
  const fed = pipeline(archive, child.stdin).then(
    () => undefined,
    (error: unknown) => toError(error).message,
  );
  const [code] = await ended.catch((cause: unknown) => {
    throw new NodeImageError('ImportFailed', `cannot run ${ctr}: ${String(cause)}`, { cause });
  });
  const broken = await fed;
  if (code === 0 && broken === undefined) return;
  const message = (await said).trim() || (broken ?? `exit code ${code ?? 'none'}`);
  throw new NodeImageError('ImportFailed', `${[ctr, ...args].join(' ')}: ${message}`);
}

/**
 * Removes one name of an image that has others, which CRI cannot, and returns when CRI no longer lists it.
 *
 * @throws NodeImageError `RemoveFailed` with ctr's messages; `ImportNotSeen` when CRI still lists it after 10 s.
 */
export async function removeName({ containerdSocket, ctr = 'ctr' }: ImportInto, name: string): Promise<void> {
  const args = ['--address', containerdSocket, '--namespace', 'k8s.io', 'images', 'rm', name];
  await run(ctr, args).catch((cause: unknown) => {
    const { stderr } = cause as { stderr?: string };
    throw new NodeImageError('RemoveFailed', `${[ctr, ...args].join(' ')}: ${stderr?.trim() ?? String(cause)}`, {
      cause,
    });
  });
  await untilCri(containerdSocket, name, false);
}

/**
 * Returns when CRI lists the images: its plugin handles an import asynchronously, and until then a pod with `imagePullPolicy: Never` fails.
 *
 * @throws NodeImageError `ImportNotSeen` when it does not list one within 10 s.
 */
export async function untilListed(containerdSocket: string, names: readonly string[]): Promise<void> {
  for (const name of names) await untilCri(containerdSocket, name, true);
}

async function untilCri(socket: string, name: string, isListed: boolean): Promise<void> {
  const end = performance.now() + polling.atMostMs;
  while ((await criLists(socket, name)) !== isListed) {
    if (performance.now() > end) {
      const still = isListed ? 'does not list the imported image' : 'still lists the removed name';
      throw new NodeImageError(
        'ImportNotSeen',
        `CRI ${still} ${name} after ${polling.atMostMs / 1000} s: see the log of containerd`,
      );
    }
    await wait(polling.everyMs);
  }
}

async function criLists(socket: string, reference: string): Promise<boolean> {
  const { image } = await callCriOnce(socket, 'ImageStatus', { image: { image: reference } });
  return image !== undefined;
}
