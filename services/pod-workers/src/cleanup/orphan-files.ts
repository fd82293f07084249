import type { NodeEvent } from '@kubus/contracts';
import { namesIn, removeTree } from '@kubus/filesystem';
import { type Cancel, type Clock, KubusError, type Logger, hasErrno, toError } from '@kubus/ports';
import { podsFolder } from '@kubus/volume';
import { readlink, realpath, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface OrphanOptions {
  /** The node's folder for pods. */
  readonly root: string;
  /** The folder of the pods' logs. */
  readonly logs: string;
  /** The folder of links to the logs. Omitted: there are no links. */
  readonly logLinks?: string | undefined;
  /** Whether the pod may be desired, or may have local state; true for every pod until all pods are known. */
  readonly mayExist: (uid: string) => boolean;
  /** Records an event of the node, for its operators. */
  readonly report: (event: Pick<NodeEvent, 'type' | 'reason' | 'message'>) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Milliseconds from the start to the first check, and between two checks (the period of container GC, behaviour:garbage-collection). */
const FIRST_MS = 10_000;
const EVERY_MS = 60_000;
/** What was changed within this many milliseconds may belong to a pod that this service does not know yet. */
const YOUNG_MS = 60_000;

/**
 * Removes the log and pod folders of unknown UIDs: of a pod whose worker has lost its record, or from before this node
 * was set up again. A known pod belongs to its worker, and its volumes to the volume manager: while a folder of
 * volumes exists, the pod's folder stays.
 */
export class OrphanFiles {
  readonly #options: OrphanOptions;
  /** What could not be removed; each is logged once. */
  readonly #failed = new Set<string>();
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

  /** How many pods' folders the last check removed, and how many it could not remove. */
  get lastLook(): { readonly cleaned: number; readonly failed: number } {
    return this.#lastLook;
  }

  /** Checks once, immediately. Never rejects. */
  async look(): Promise<void> {
    const { logger, report } = this.#options;
    try {
      for (const path of await this.#logFolders()) await this.#remove(path);
      const look = { cleaned: 0, failed: 0 };
      for (const path of await this.#podFolders()) look[(await this.#remove(path)) ? 'cleaned' : 'failed'] += 1;
      this.#lastLook = look;
      for (const path of await this.#deadLinks()) {
        await rm(path, { force: true });
        logger.info({ path }, 'removed a link to the log of an unknown pod');
      }
    } catch (error) {
      logger.error({ err: toError(error) }, 'looking for files of unknown pods failed');
      report({ type: 'Warning', reason: 'ContainerGCFailed', message: toError(error).message });
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

  /** The folders of unknown pods in `parent` that have not changed for long enough. */
  async #orphans(parent: string, uidOfName: (name: string) => string | undefined): Promise<string[]> {
    const { clock, mayExist } = this.#options;
    const found: string[] = [];
    for (const name of await namesIn(parent)) {
      const uid = uidOfName(name);
      if (uid === undefined || mayExist(uid)) continue;
      const path = join(parent, name);
      const times = [path, ...(await namesIn(path)).map((inner) => join(path, inner))].map(changedAt);
      const newest = Math.max(...(await Promise.all(times)).map((time) => time ?? 0));
      // Checked a second time: the pod may have become known.
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
      // A running container's log is missing for a moment while it is rotated.
      const uid = uidOf(target.slice(logs.length + 1).split('/')[0] ?? '');
      if (uid !== undefined && !mayExist(uid)) dead.push(path);
    }
    return dead;
  }

  async #remove(path: string): Promise<boolean> {
    const { logger } = this.#options;
    try {
      await removeTree(path);
      this.#failed.delete(path);
      logger.info({ path }, 'removed files of an unknown pod');
      return true;
    } catch (error) {
      if (!this.#failed.has(path)) {
        this.#failed.add(path);
        logger.error({ path, err: toError(error) }, 'removing files of an unknown pod failed');
      }
      return false;
    }
  }
}

/** The UID in the name of a pod's log folder, `<namespace>_<name>_<uid>`; undefined for any other name. */
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
