import type { Bus } from '@kubus/bus';
import { type VolumeStats, volumeStats } from '@kubus/contracts';
import { DEFAULT_BUCKETS, Distribution } from '@kubus/metrics';
import { type Clock, sleep } from '@kubus/ports';
import { type ClaimReference, pluginName } from '@kubus/volume';
import type { VolumeUsage } from './file-system-stats.ts';
import type { PodVolume } from '../pod/pod-volumes.ts';

export interface VolumeUsagesOptions {
  readonly clock: Clock;
  /** All volumes of all pods. */
  readonly volumes: () => readonly PodVolume[];
  /** Capacity and usage of a volume; undefined when they cannot be read. */
  readonly usage: (volume: PodVolume) => Promise<VolumeUsage | undefined>;
}

/** The usage of a volume at a time. */
export interface KnownUsage {
  readonly volume: PodVolume;
  readonly usage: VolumeUsage;
  /** Milliseconds since the Unix epoch. */
  readonly readAt: number;
}

/** How long a read usage is valid, in milliseconds (behaviour:qos-and-cgroups, volume stats). */
const COUNTS_MS = 60_000;

/** How long a caller waits for usages that are being read, in milliseconds: a volume may be large, or not answer. */
const WAIT_MS = 1_000;

interface Entry {
  readonly startedAt: number;
  readonly reading: Promise<void>;
  known: KnownUsage | undefined;
}

/** Usages of the pods' volumes: read on demand, each volume at most once a minute. */
export class VolumeUsages {
  /** Seconds that reading took, by the volume's plugin. */
  readonly seconds = new Distribution(DEFAULT_BUCKETS);
  readonly #options: VolumeUsagesOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: VolumeUsagesOptions) {
    this.#options = options;
  }

  /** The known usages of mounted volumes; waits a little for those being read. */
  async read(): Promise<KnownUsage[]> {
    const { clock, volumes } = this.#options;
    const present = volumes().filter(({ mounted }) => mounted !== undefined && mounted.device !== true);
    const keys = new Set(present.map(keyOf));
    for (const key of this.#entries.keys()) if (!keys.has(key)) this.#entries.delete(key);
    const entries = present.map((volume) => this.#entry(volume));
    const enough = new AbortController();
    const all = Promise.all(entries.map(({ reading }) => reading));
    await Promise.race([all, sleep(clock, WAIT_MS, enough.signal)]);
    enough.abort();
    return entries.flatMap(({ known }) => known ?? []);
  }

  /** The previous usage stays until a newer one has been read. */
  #entry(volume: PodVolume): Entry {
    const { clock, usage } = this.#options;
    const key = keyOf(volume);
    const present = this.#entries.get(key);
    const readAt = clock.now();
    if (present !== undefined && readAt - present.startedAt < COUNTS_MS) return present;
    const take = (found: VolumeUsage | undefined) => {
      this.seconds.observe({ metric_source: pluginName(volume.step) }, (clock.now() - readAt) / 1000);
      entry.known = found && { volume, usage: found, readAt };
    };
    const reading = usage(volume).then(take, () => take(undefined));
    const entry: Entry = { startedAt: readAt, reading, known: present?.known };
    this.#entries.set(key, entry);
    return entry;
  }
}

/** The claim of a volume that outlives its pods. */
export function claimOfVolume({ step }: PodVolume): ClaimReference | undefined {
  return 'claim' in step ? step.claim : undefined;
}

/** Serves the command that reads the usages of all pods' volumes. */
export function serveVolumeStats(bus: Bus, usages: VolumeUsages): void {
  bus.serve(volumeStats, async (command) => {
    command.begin();
    const pods: Record<string, VolumeStats[]> = {};
    for (const { volume, usage, readAt } of await usages.read()) {
      const claim = claimOfVolume(volume);
      const local = isOnDisk(volume);
      (pods[volume.uid] ??= []).push({ name: volume.name, ...(claim && { claim }), local, ...usage, readAt });
    }
    return { pods };
  });
}

/** It is in the node's own file system and ends with its pod. */
function isOnDisk({ step }: PodVolume): boolean {
  return step.kind === 'folder' || (step.kind === 'content' && step.folder.kind === 'folder');
}

function keyOf({ uid, name }: PodVolume): string {
  return `${uid}/${name}`;
}
