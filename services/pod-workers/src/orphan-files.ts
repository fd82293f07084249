import { namesIn, removeTree } from '@kubus/mount';
import { type Cancel, type Clock, KubusError, type Logger, hasErrno, toError } from '@kubus/ports';
import type { NodeEvent } from '@kubus/contracts';
import { podsFolder } from '@kubus/volume';
import { readlink, realpath, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface OrphanOptions {
  /** The node's folder for pods. */
  readonly root: string;
  /** The folder of the pods' logs. */
  readonly logs: string;
  /** The folder of links to the logs. Left out: there are none. */
  readonly logLinks?: string | undefined;
  /** Whether the pod may be wanted, or something of it be there; true of every pod until all pods are known. */
  readonly mayExist: (uid: string) => boolean;
  /** For what the node's operators are to hear of. */
  /** Tells the node's operators what happens. */
  readonly tell: (event: Pick<NodeEvent, 'type' | 'reason' | 'message'>) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** After the start, and between two looks, in milliseconds (the period of container GC, kubelet behaviour 1.9). */
const FIRST_MS = 10_000;
const EVERY_MS = 60_000;
/** What was changed in the last milliseconds may belong to a pod of which this service has not heard yet. */
const YOUNG_MS = 60_000;

/**
 * Removes what lies in the folders of logs and pods of a UID that nobody knows any more: a pod whose worker has lost its
 * record, or one from before this node was set up anew. A pod that is known is its worker's, and its volumes are the volume
 * manager's: as long as there is a folder of those, the pod's folder stays.
 */
export class OrphanFiles {
  readonly #options: OrphanOptions;
  /** What could not be removed, told once. */
  readonly #told = new Set<string>();
  #lastLook = { cleaned: 0, failed: 0 };
  #timer: Cancel | undefined;
  #stopped = false;

  constructor(options: OrphanOptions) {
    this.#options = options;
    this.#after(FIRST_MS);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
  }

  /** How many pods' folders the last look has removed, and could not remove. */
  get lastLook(): { readonly cleaned: number; readonly failed: number } {
    return this.#lastLook;
  }

  /** Looks once, now. Never rejects. */
  async look(): Promise<void> {
    const { logger, tell } = this.#options;
    try {
      for (const path of await this.#logFolders()) await this.#remove(path);
      const look = { cleaned: 0, failed: 0 };
      for (const path of await this.#podFolders()) look[(await this.#remove(path)) ? 'cleaned' : 'failed'] += 1;
      this.#lastLook = look;
      for (const path of await this.#deadLinks()) {
        await rm(path, { force: true });
        logger.info({ path }, 'removed a link to the log of a pod that nobody knows');
      }
    } catch (error) {
      logger.error({ err: toError(error) }, 'what is left of unknown pods could not be looked for');
      tell({ type: 'Warning', reason: 'ContainerGCFailed', message: toError(error).message });
    }
  }

  #after(ms: number): void {
    if (this.#stopped) return;
    this.#timer = this.#options.clock.after(ms, () => void this.look().then(() => this.#after(EVERY_MS)));
  }

  async #logFolders(): Promise<string[]> {
    const { logs } = this.#options;
    try {
      return await this.#orphans(await resolved(logs), uidOf);
    } catch (error) {
      const message = `failed to read podLogsDirectory "${logs}": ${toError(error).message}`;
      throw new KubusError('logs-unreadable', message, { cause: error });
    }
  }

  async #podFolders(): Promise<string[]> {
    const root = await resolved(this.#options.root);
    const orphans = await this.#orphans(podsFolder(root), (name) => name);
    const volumes = await Promise.all(orphans.map((path) => changedAt(join(path, 'volumes'))));
    return orphans.filter((_, index) => volumes[index] === undefined);
  }

  /** The folders in `parent` of unknown pods, left alone for long enough. */
  async #orphans(parent: string, uidOfName: (name: string) => string | undefined): Promise<string[]> {
    const { clock, mayExist } = this.#options;
    const found: string[] = [];
    for (const name of await namesIn(parent)) {
      const uid = uidOfName(name);
      if (uid === undefined || mayExist(uid)) continue;
      const path = join(parent, name);
      const times = [path, ...(await namesIn(path)).map((inner) => join(path, inner))].map(changedAt);
      const newest = Math.max(...(await Promise.all(times)).map((time) => time ?? 0));
      // Asked once more: it was told of meanwhile.
      if (clock.now() - newest >= YOUNG_MS && !mayExist(uid)) found.push(path);
    }
    return found;
  }

  async #deadLinks(): Promise<string[]> {
    const { logLinks, logs, mayExist } = this.#options;
    if (logLinks === undefined) return [];
    const dead: string[] = [];
    for (const name of await namesIn(logLinks)) {
      const path = join(logLinks, name);
      const target = await readlink(path).catch(() => '');
      if (!target.startsWith(`${logs}/`) || (await changedAt(target)) !== undefined) continue;
      // For a moment a running container's log is not there, when it is being rotated.
      const uid = uidOf(target.slice(logs.length + 1).split('/')[0] ?? '');
      if (uid !== undefined && !mayExist(uid)) dead.push(path);
    }
    return dead;
  }

  async #remove(path: string): Promise<boolean> {
    const { logger } = this.#options;
    try {
      await removeTree(path);
      this.#told.delete(path);
      logger.info({ path }, 'removed what was left of a pod that nobody knows');
      return true;
    } catch (error) {
      if (!this.#told.has(path)) {
        this.#told.add(path);
        logger.error({ path, err: toError(error) }, 'what is left of a pod that nobody knows can not be removed');
      }
      return false;
    }
  }
}

/** The UID in the name of a pod's log folder, `<namespace>_<name>_<uid>`; undefined when it is none. */
function uidOf(name: string): string | undefined {
  const [, uid] = /^[^_]+_[^_]+_([^_]+)$/.exec(name) ?? [];
  return uid;
}

/** Links resolved, as in the list of mounts. */
function resolved(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

async function changedAt(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}
