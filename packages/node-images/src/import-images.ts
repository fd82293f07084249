import { setTimeout as wait } from 'node:timers/promises';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { callCriOnce } from './cri-call.ts';
import { NodeImageError } from './errors.ts';
import type { BuiltImage } from './oci-image.ts';

const run = promisify(execFile);
const looks = { everyMs: 5, atMostMs: 10_000 };

export interface ImportOptions {
  /** Path of containerd's own socket (it serves CRI too). Absolute: ctr 2.x takes nothing else. */
  readonly containerdSocket: string;
  readonly images: readonly Pick<BuiltImage, 'reference' | 'archive'>[];
  /** The client that came with that containerd; the machine's when left out. */
  readonly ctr?: string;
}

/**
 * Imports and unpacks the archives, and returns when CRI lists the images. That takes a moment: the CRI plugin learns of
 * an image through an event, and until then a pod with the policy Never finds none. Importing again is harmless.
 *
 * @throws NodeImageError `ImportFailed` with ctr's own words; `ImportNotSeen` when CRI takes longer than 10 s.
 */
export async function importImages({ containerdSocket, images, ctr = 'ctr' }: ImportOptions): Promise<void> {
  for (const { archive } of images) {
    await importArchive([ctr, '--address', containerdSocket, '--namespace', 'k8s.io', 'images', 'import', archive]);
  }
  const end = performance.now() + looks.atMostMs;
  for (const { reference } of images) {
    while (!(await criLists(containerdSocket, reference))) {
      if (performance.now() > end) {
        throw new NodeImageError('ImportNotSeen', `CRI does not list the imported image ${reference}`);
      }
      await wait(looks.everyMs);
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
