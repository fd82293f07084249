import type { Bus } from '@kubus/bus';
import { criCommands, volumeStats } from '@kubus/contracts';
import type { VolumeReading } from '@kubus/node-metrics';
import type { Clock } from '@kubus/ports';

/** The usage of the file system at a mount point. */
export interface StorageUse {
  readonly mountpoint: string;
  readonly usedBytes: number;
  readonly inodesUsed: number;
  /** Milliseconds since the Unix epoch. */
  readonly atMs: number;
}

/** The file systems of the runtime; undefined where it does not report them. */
export interface RuntimeFileSystems {
  readonly images: StorageUse | undefined;
  /** What all containers together have written; that of the images when the runtime does not distinguish them. */
  readonly containers: StorageUse | undefined;
}

/** What containers have written into their own layers, by the runtime's IDs. */
export type LayerUses = ReadonlyMap<string, StorageUse>;

/** The volumes of pods by the pods' UIDs. */
export type VolumeReadings = ReadonlyMap<string, readonly VolumeReading[]>;

/** The containers of one response. */
const PAGE = 1_000;

/** The usage of a file system as CRI reports it; numbers are decimal. */
interface CriUsage {
  readonly timestamp?: string;
  readonly fsId?: { readonly mountpoint?: string };
  readonly usedBytes?: { readonly value?: string };
  readonly inodesUsed?: { readonly value?: string };
}

/** Queries the runtime, for which this is cheap. Rejects when it does not answer. */
export async function runtimeFileSystems(bus: Bus, clock: Clock): Promise<RuntimeFileSystems> {
  const { result } = await bus.call(criCommands.ImageFsInfo, bus.node, { params: {} });
  const { imageFilesystems, containerFilesystems } = result.response;
  const images = useOf(imageFilesystems?.[0], clock);
  return { images, containers: useOf(containerFilesystems?.[0], clock) ?? images };
}

/** Queries the runtime, which queries the shim of each container for its whole usage. Rejects when it does not answer. */
export async function layerUses(bus: Bus, clock: Clock): Promise<LayerUses> {
  const layers = new Map<string, StorageUse>();
  let after: string | undefined;
  do {
    const page = { limit: PAGE, after };
    const { result } = await bus.call(criCommands.ListContainerStats, bus.node, { params: {}, page });
    for (const { attributes, writableLayer } of result.response.stats ?? []) {
      const use = useOf(writableLayer, clock);
      if (use !== undefined) layers.set(attributes?.id ?? '', use);
    }
    after = result.next;
  } while (after !== undefined);
  return layers;
}

function useOf(usage: CriUsage | undefined, clock: Clock): StorageUse | undefined {
  const mountpoint = usage?.fsId?.mountpoint ?? '';
  if (mountpoint === '') return undefined;
  const { timestamp = '0', usedBytes, inodesUsed } = usage ?? {};
  const nanos = BigInt(timestamp);
  return {
    mountpoint,
    usedBytes: Number(usedBytes?.value ?? 0),
    inodesUsed: Number(inodesUsed?.value ?? 0),
    atMs: nanos > 0n ? Number(nanos / 1_000_000n) : clock.now(),
  };
}

/** Queries volume-manager. */
export async function volumeReadings(bus: Bus): Promise<VolumeReadings> {
  const { result } = await bus.call(volumeStats, bus.node, {});
  const readings = Object.entries(result.pods).map(
    ([uid, volumes]) =>
      [uid, volumes.map(({ readAt, local, ...volume }) => ({ ...volume, atMs: readAt, isLocal: local }))] as const,
  );
  return new Map(readings);
}
