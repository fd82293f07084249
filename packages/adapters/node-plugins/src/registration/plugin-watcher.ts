import { type FSWatcher, watch } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Cancel, type Clock, type Logger, hasErrno, toError } from '@kubus/ports';
import { type PluginInfo, type PluginType, registerPlugin } from './registration.ts';

/** The period of reads for lost notifications and for sockets in subfolders. */
const RESCAN_MS = 10_000;

export interface PluginWatcherOptions<Plugin> {
  /** The type of plugins. */
  readonly of: PluginType<Plugin>;
  /** The folder in which plugins open their sockets: `<root>/plugins_registry`. Created if it is missing. */
  readonly folder: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds until the next attempt after a number of consecutive failures. */
  readonly retryWait: (failures: number) => number;
  /** May throw: the plugin is refused. */
  readonly registered: (plugin: Plugin) => void;
  readonly unregistered: (plugin: Plugin) => void;
}

/** Identifies the socket, also after it was replaced. */
interface FoundSocket {
  readonly path: string;
  readonly identity: string;
}

/**
 * The plugins of one type: registers each program that opens a socket in the folder, and deregisters a plugin when its
 * socket is removed
 * (behaviour:plugins, plugin watcher). One that only dies leaves its socket: it is still registered, and calls fail.
 */
export class PluginWatcher<Plugin> {
  readonly #options: PluginWatcherOptions<Plugin>;
  readonly #sockets = new Map<string, Socket<Plugin>>();
  readonly #registered: Registered<Plugin>;
  #watcher: FSWatcher | undefined;
  #cancelRescan: Cancel | undefined;
  #scanning: Promise<void> | undefined;
  #scanAgain = false;
  #stopped = false;

  private constructor(options: PluginWatcherOptions<Plugin>) {
    this.#options = options;
    this.#registered = new Registered(options);
  }

  /** Resolves when the folder is watched and each existing plugin has been tried once. */
  static async start<Plugin>(options: PluginWatcherOptions<Plugin>): Promise<PluginWatcher<Plugin>> {
    const watcher = new PluginWatcher(options);
    await watcher.#scan();
    await Promise.all([...watcher.#sockets.values()].map(({ tried }) => tried));
    return watcher;
  }

  stop(): void {
    this.#stopped = true;
    this.#watcher?.close();
    this.#cancelRescan?.();
    for (const socket of this.#sockets.values()) socket.stop();
  }

  async #scan(): Promise<void> {
    if (this.#scanning !== undefined) {
      this.#scanAgain = true;
      return this.#scanning;
    }
    this.#cancelRescan?.();
    this.#scanning = this.#compare().catch((error: unknown) =>
      this.#options.logger.warn({ err: toError(error) }, 'the folder of plugins cannot be read'),
    );
    await this.#scanning;
    this.#scanning = undefined;
    if (this.#stopped) return;
    const again = this.#scanAgain;
    this.#scanAgain = false;
    if (again) await this.#scan();
    else this.#cancelRescan = this.#options.clock.after(RESCAN_MS, () => void this.#scan());
  }

  async #compare(): Promise<void> {
    await mkdir(this.#options.folder, { recursive: true, mode: 0o755 });
    this.#watch();
    const found = await findSockets(this.#options.folder);
    if (this.#stopped) return;
    const present = new Map(found.map((socket) => [socket.path, socket]));
    for (const [path, socket] of this.#sockets) {
      if (present.get(path)?.identity === socket.identity) continue;
      this.#sockets.delete(path);
      socket.stop();
      this.#registered.removed(socket);
    }
    for (const one of found) {
      if (!this.#sockets.has(one.path)) this.#sockets.set(one.path, new Socket(one, this.#options, this.#registered));
    }
  }

  /** Before reading, so that nothing is missed; again when the folder was replaced. */
  #watch(): void {
    if (this.#watcher !== undefined) return;
    const { folder, logger } = this.#options;
    const lost = (error: Error) => {
      logger.warn({ err: error, folder }, 'the folder of plugins is not watched');
      this.#watcher?.close();
      this.#watcher = undefined;
    };
    try {
      this.#watcher = watch(folder, (_, name) => {
        if (name === basename(folder)) lost(new Error('the folder has been replaced'));
        void this.#scan();
      }).on('error', lost);
    } catch (error) {
      lost(toError(error));
    }
  }
}

/** The registered plugins and their sockets. */
class Registered<Plugin> {
  readonly #options: Pick<PluginWatcherOptions<Plugin>, 'of' | 'registered' | 'unregistered'>;
  /** In the order in which they registered. */
  readonly #plugins = new Set<{ name: string; plugin: Plugin; versions: readonly string[]; socket: Socket<Plugin> }>();

  constructor(options: Pick<PluginWatcherOptions<Plugin>, 'of' | 'registered' | 'unregistered'>) {
    this.#options = options;
  }

  versions(name: string): readonly string[] | undefined {
    return [...this.#plugins].findLast((one) => one.name === name)?.versions;
  }

  add(plugin: Plugin, { name, supportedVersions: versions }: PluginInfo, socket: Socket<Plugin>): void {
    const { of, registered, unregistered } = this.#options;
    for (const before of this.#plugins) {
      if (of.several === true || before.name !== name) continue;
      this.#plugins.delete(before);
      unregistered(before.plugin);
    }
    registered(plugin);
    this.#plugins.add({ name, plugin, versions, socket });
  }

  /** No plugin is registered over the socket any more. */
  removed(socket: Socket<Plugin>): void {
    for (const one of this.#plugins) {
      if (one.socket !== socket) continue;
      this.#plugins.delete(one);
      this.#options.unregistered(one.plugin);
    }
  }
}

/** The plugin of one socket: it is registered, with retries after growing delays. */
class Socket<Plugin> {
  readonly identity: string;
  /** Resolves after the first attempt. */
  readonly tried: Promise<void>;
  readonly #path: string;
  readonly #options: PluginWatcherOptions<Plugin>;
  readonly #registered: Registered<Plugin>;
  #failures = 0;
  #timer: Cancel | undefined;
  #stopped = false;

  constructor({ path, identity }: FoundSocket, options: PluginWatcherOptions<Plugin>, registered: Registered<Plugin>) {
    this.identity = identity;
    this.#path = path;
    this.#options = options;
    this.#registered = registered;
    this.tried = this.#try();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
  }

  async #try(): Promise<void> {
    const { of, clock, logger, retryWait } = this.#options;
    try {
      await registerPlugin({
        socket: this.#path,
        of,
        taken: (name) => this.#registered.versions(name),
        accept: (plugin, info) => {
          if (!this.#stopped) this.#registered.add(plugin, info, this);
        },
      });
    } catch (error) {
      if (this.#stopped) return;
      this.#registered.removed(this);
      this.#failures += 1;
      logger.warn({ err: toError(error), socket: this.#path }, 'a plugin cannot be registered');
      this.#timer = clock.after(retryWait(this.#failures), () => void this.#try());
    }
  }
}

/** Sockets in the folder and below, except hidden ones. */
async function findSockets(folder: string): Promise<FoundSocket[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sockets = entries.filter((entry) => entry.isSocket() && !entry.name.startsWith('.'));
  const found = await Promise.all(sockets.map(({ parentPath, name }) => identify(join(parentPath, name))));
  return found.filter((socket) => socket !== undefined);
}

async function identify(path: string): Promise<FoundSocket | undefined> {
  try {
    // Inode numbers of removed files are used again, so the number alone is not enough.
    const { ino, birthtimeNs } = await stat(path, { bigint: true });
    return { path, identity: `${ino}:${birthtimeNs}` };
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}
