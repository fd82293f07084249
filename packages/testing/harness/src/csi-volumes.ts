import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { chown, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { isMounted, mount, unmount } from '@kubus/filesystem';
import { KubusError } from '@kubus/ports';
import type {
  NodeExpandVolumeRequest,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  NodeUnpublishVolumeRequest,
  NodeUnstageVolumeRequest,
  VolumeCapability,
} from '@kubus/proto/csi-grpc';
import type { CsiBooks } from './csi-driver.ts';

const run = promisify(execFile);

const FIRST_BYTES = 1024 * 1024;

/** What is kept across restarts, besides what the test may read. */
interface StoredBooks extends CsiBooks {
  /** All volumes ever requested from the driver. */
  readonly known: readonly string[];
}

const NOTHING: StoredBooks = { staged: {}, published: {}, devices: {}, known: [] };

/** The volumes of a driver for tests: folders and files of its own, mounted as requested. Each method is idempotent. */
export class CsiVolumes {
  readonly #folder: string;
  readonly #staged: Map<string, string>;
  readonly #published: Map<string, string>;
  readonly #devices: Map<string, string>;
  readonly #known: Set<string>;

  constructor(folder: string) {
    this.#folder = folder;
    const path = join(folder, 'books.json');
    const books = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as StoredBooks) : NOTHING;
    this.#staged = new Map(Object.entries(books.staged));
    this.#published = new Map(Object.entries(books.published));
    this.#devices = new Map(Object.entries(books.devices));
    this.#known = new Set(books.known);
  }

  async stage({ volumeId, stagingTargetPath, volumeCapability }: NodeStageVolumeRequest): Promise<void> {
    const source = await this.#source(volumeId, volumeCapability);
    if (volumeCapability?.block === undefined) await bind(source, stagingTargetPath, []);
    this.#staged.set(volumeId, stagingTargetPath);
    this.#write();
  }

  async unstage({ volumeId, stagingTargetPath }: NodeUnstageVolumeRequest): Promise<void> {
    this.#know(volumeId);
    const users = [...this.#published.values()].filter((user) => user === volumeId);
    if (users.length > 0) throw new KubusError('FAILED_PRECONDITION', `${volumeId} is published`);
    await unbind(stagingTargetPath);
    await this.#detach(volumeId);
    this.#staged.delete(volumeId);
    this.#write();
  }

  async publish(request: NodePublishVolumeRequest): Promise<void> {
    const { volumeId, stagingTargetPath, targetPath, volumeCapability, readonly } = request;
    if (stagingTargetPath !== '' && this.#staged.get(volumeId) !== stagingTargetPath) {
      throw new KubusError('FAILED_PRECONDITION', `${volumeId} is not staged at ${stagingTargetPath}`);
    }
    const source = await this.#source(volumeId, volumeCapability);
    if (volumeCapability?.block !== undefined) {
      if (!existsSync(targetPath)) writeFileSync(targetPath, '');
    } else mkdirSync(targetPath, { recursive: true });
    await bind(source, targetPath, readonly ? ['ro'] : []);
    this.#published.set(targetPath, volumeId);
    this.#write();
  }

  async unpublish({ volumeId, targetPath }: NodeUnpublishVolumeRequest): Promise<void> {
    this.#know(volumeId);
    await unbind(targetPath);
    if (existsSync(dirname(targetPath))) rmSync(targetPath, { recursive: true, force: true });
    this.#published.delete(targetPath);
    if (!this.#staged.has(volumeId)) await this.#detach(volumeId);
    this.#write();
  }

  async expand({ volumeId, capacityRange }: NodeExpandVolumeRequest): Promise<{ capacityBytes: string }> {
    this.#know(volumeId);
    const capacityBytes = capacityRange?.requiredBytes ?? '0';
    const device = this.#devices.get(volumeId);
    if (device !== undefined) {
      await truncate(this.#path(volumeId, '.img'), Number(capacityBytes));
      await run('losetup', ['-c', device]);
    } else await writeFile(this.#path(volumeId, '.size'), capacityBytes);
    return { capacityBytes };
  }

  forget(): void {
    for (const books of [this.#staged, this.#published, this.#known]) books.clear();
    this.#write();
  }

  /** The source that is mounted for the volume; created on first use. */
  async #source(volumeId: string, capability: VolumeCapability | undefined): Promise<string> {
    this.#known.add(volumeId);
    if (capability?.block !== undefined) return this.#attach(volumeId);
    const path = this.#path(volumeId);
    mkdirSync(path, { recursive: true });
    const group = capability?.mount?.volumeMountGroup ?? '';
    if (group !== '') await chown(path, 0, Number(group));
    return path;
  }

  async #attach(volumeId: string): Promise<string> {
    const present = this.#devices.get(volumeId);
    if (present !== undefined) return present;
    const file = this.#path(volumeId, '.img');
    if (!existsSync(file)) await writeFile(file, Buffer.alloc(FIRST_BYTES));
    const { stdout } = await run('losetup', ['--find', '--show', file]);
    this.#devices.set(volumeId, stdout.trim());
    this.#write();
    return stdout.trim();
  }

  async #detach(volumeId: string): Promise<void> {
    const device = this.#devices.get(volumeId);
    if (device !== undefined) await run('losetup', ['-d', device]);
    this.#devices.delete(volumeId);
  }

  #know(volumeId: string): void {
    if (!this.#known.has(volumeId)) throw new KubusError('NOT_FOUND', `volume ${volumeId} does not exist`);
  }

  #path(volumeId: string, ending = ''): string {
    return join(this.#folder, 'volumes', `${encodeURIComponent(volumeId)}${ending}`);
  }

  #write(): void {
    const books: StoredBooks = {
      staged: Object.fromEntries(this.#staged),
      published: Object.fromEntries(this.#published),
      devices: Object.fromEntries(this.#devices),
      known: [...this.#known],
    };
    // The driver may be killed while it writes.
    const path = join(this.#folder, 'books.json');
    writeFileSync(`${path}.new`, JSON.stringify(books));
    renameSync(`${path}.new`, path);
  }
}

async function bind(source: string, target: string, options: readonly string[]): Promise<void> {
  if (await isMounted(target)) return;
  await mount({ type: 'none', source, target, options: ['bind'] });
  if (options.length > 0) await mount({ type: 'none', source, target, options: ['remount', 'bind', ...options] });
}

async function unbind(target: string): Promise<void> {
  while (await isMounted(target)) await unmount(target);
}
