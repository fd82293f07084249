import type { Bus } from '@kubus/bus';
import { type VolumeStats, volumeStats } from '@kubus/contracts';
import { DEFAULT_BUCKETS, Distribution } from '@kubus/metrics';
import { type Clock, sleep } from '@kubus/ports';
import { type ClaimReference, pluginName } from '@kubus/volume';
import type { VolumeUsage } from './file-system-stats.ts';
import type { PodVolume } from './pod-volumes.ts';

export interface VolumeUsagesOptions {
  readonly clock: Clock;
  /** All volumes of all pods. */
  readonly volumes: () => readonly PodVolume[];
  /** What a volume has and what of it is used; undefined when that can not be told. */
  readonly usage: (volume: PodVolume) => Promise<VolumeUsage | undefined>;
}

/** A volume and what it had when it was looked at. */
export interface KnownUsage {
  readonly volume: PodVolume;
  readonly usage: VolumeUsage;
  /** Milliseconds since the Unix epoch. */
  readonly readAt: number;
}

/** How long what is known of a volume's usage counts, in milliseconds (kubelet behaviour 1.20, volume stats). */
const COUNTS_MS = 60_000;

/** How long who asks waits for volumes that are looked at, in milliseconds: one may be large, or not answer. */
const WAIT_MS = 1_000;

interface Entry {
  readonly startedAt: number;
  readonly reading: Promise<void>;
  known: KnownUsage | undefined;
}

/** What the volumes of pods use: looked at when somebody asks, each volume once a minute at most. */
export class VolumeUsages {
  /** Seconds that looking took, by the volume's plugin. */
  readonly seconds = new Distribution(DEFAULT_BUCKETS);
  readonly #options: VolumeUsagesOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: VolumeUsagesOptions) {
    this.#options = options;
  }

  /** What is known of the volumes that are there; waits a little for what is not. */
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

  /** What was known stays until more is known. */
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

/** Answers what the volumes of all pods use. */
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

/** It is in the node's own file system, and ends with its pod. */
function isOnDisk({ step }: PodVolume): boolean {
  return step.kind === 'folder' || (step.kind === 'content' && step.folder.kind === 'folder');
}

function keyOf({ uid, name }: PodVolume): string {
  return `${uid}/${name}`;
}
