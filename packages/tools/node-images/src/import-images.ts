import { setTimeout as wait } from 'node:timers/promises';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { callCriOnce } from './cri-call.ts';
import { NodeImageError } from './errors.ts';
import type { BuiltImage } from './oci-image.ts';

const run = promisify(execFile);
/** How often CRI is asked for an imported image, and for how long, in milliseconds. */
const polling = { everyMs: 5, atMostMs: 10_000 };

/** What {@link importImages} needs. */
export interface ImportOptions {
  /** Absolute path of containerd's socket, which also serves CRI. */
  readonly containerdSocket: string;
  readonly images: readonly Pick<BuiltImage, 'reference' | 'archive'>[];
  /** Path of the `ctr` of that containerd. Default: `ctr` from PATH. */
  readonly ctr?: string;
}

/**
 * Imports and unpacks the archives, and returns when CRI lists the images: the CRI plugin handles the import asynchronously, and until then
 * a pod with `imagePullPolicy: Never` fails. Harmless to repeat.
 *
 * @throws NodeImageError `ImportFailed` with ctr's messages; `ImportNotSeen` when CRI does not list an image within 10 s.
 */
export async function importImages({ containerdSocket, images, ctr = 'ctr' }: ImportOptions): Promise<void> {
  for (const { archive } of images) {
    await importArchive([ctr, '--address', containerdSocket, '--namespace', 'k8s.io', 'images', 'import', archive]);
  }
  const end = performance.now() + polling.atMostMs;
  for (const { reference } of images) {
    while (!(await criLists(containerdSocket, reference))) {
      if (performance.now() > end) {
        throw new NodeImageError(
          'ImportNotSeen',
          `CRI does not list the imported image ${reference} after ${polling.atMostMs / 1000} s: see the log of containerd`,
        );
      }
      await wait(polling.everyMs);
    }
  }
}

async function criLists(socket: string, reference: string): Promise<boolean> {
  const { image } = await callCriOnce(socket, 'ImageStatus', { image: { image: reference } });
  return image !== undefined;
}

async function importArchive([program, ...args]: readonly [string, ...string[]]): Promise<void> {
  try {
    await run(program, args);
  } catch (cause) {
    const { stderr } = cause as { stderr?: string };
    throw new NodeImageError('ImportFailed', `${[program, ...args].join(' ')}: ${stderr?.trim() ?? String(cause)}`, {
      cause,
    });
  }
}
