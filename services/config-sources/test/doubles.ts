import type { ManifestReport, Pod, PodUpdate, SourceName } from '@kubus/contracts';
import { type Cancel, KubusError, type Logger } from '@kubus/ports';
import { type ConfigOutput, type FolderListing, type ManifestFolder, SourceMerge } from '../src/index.ts';

/** A folder with the content that the test sets. */
export class ScriptedFolder implements ManifestFolder {
  readonly path = '/m';
  readonly files = new Map<string, string>();
  readonly unreadable = new Set<string>();
  /** Files that are links without a target. */
  readonly dangling = new Set<string>();
  /** Reported by the next read. */
  returned = new Set<string>();
  missing = false;
  /** The next reads fail as a whole. */
  failing = false;
  reads = 0;
  readonly #listeners = new Set<() => void>();
  #held: (() => void)[] | undefined;

  async read(): Promise<FolderListing> {
    this.reads++;
    await new Promise<void>((resolve) => {
      if (this.#held === undefined) resolve();
      else this.#held.push(resolve);
    });
    if (this.failing) throw new KubusError('io', 'input/output error');
    const { returned } = this;
    this.returned = new Set();
    if (this.missing) return { files: [], errors: [], missing: true, returned };
    const readable = [...this.files].filter(([path]) => !this.unreadable.has(path) && !this.dangling.has(path));
    return {
      files: readable.map(([path, text]) => ({ path, text })),
      errors: [
        ...[...this.unreadable].map((path) => ({ path, error: new KubusError('io', `${path}: no access`) })),
        ...[...this.dangling].map((path) => ({ path, error: new KubusError('io', `${path}: no target`), gone: true })),
      ],
      missing: false,
      returned,
    };
  }

  onChange(listener: () => void): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Reads do not end before `release`. */
  hold(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const resolve of held) resolve();
  }
}

/** What a service has published, as a reader of its facts sees it. */
export class Follower implements ConfigOutput {
  readonly pods = new Map<string, Pod>();
  readonly manifests = new Map<string, ManifestReport>();
  readonly log: string[] = [];

  pod(source: SourceName, update: PodUpdate): void {
    this.log.push(`${update.operation} ${update.pod.metadata.name}`);
    this.pods.set(`${source}/${update.pod.metadata.uid}`, update.pod);
  }

  removed(source: SourceName, uid: string, update: PodUpdate): void {
    this.log.push(`${update.operation} ${update.pod.metadata.name}`);
    this.pods.delete(`${source}/${uid}`);
  }

  complete(source: SourceName): void {
    this.log.push(`complete ${source}`);
  }

  manifest(path: string, report: ManifestReport): void {
    this.log.push(`manifest ${path} ${report.errors.length}`);
    this.manifests.set(path, report);
  }

  manifestGone(path: string): void {
    this.log.push(`gone ${path}`);
    this.manifests.delete(path);
  }

  event(event: { pod: { name: string }; reason: string }): void {
    this.log.push(`event ${event.pod.name} ${event.reason}`);
  }

  /** `name=image` of every pod. */
  get running(): string[] {
    return [...this.pods.values()]
      .map(({ metadata, spec }) => `${metadata.name}=${spec.containers[0]?.image ?? ''}`)
      .sort();
  }

  takeLog(): string[] {
    return this.log.splice(0);
  }
}

export const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};

export function manifestOf(name: string, image = 'i'): string {
  return `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: c, image: ${image}}]}\n`;
}

/** Merges what these sources read, and passes it to the follower. */
export function mergeInto(follower: Follower, ...registered: readonly SourceName[]): SourceMerge {
  return new SourceMerge({ registered, output: follower, logger: silent });
}
