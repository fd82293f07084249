import type { Bus } from '@kubus/bus';
import { criCommands, volumeStats } from '@kubus/contracts';
import type { VolumeReading } from '@kubus/node-stats';
import type { Clock } from '@kubus/ports';

/** What something takes of the file system at a mount point. */
export interface StorageUse {
  readonly mountpoint: string;
  readonly usedBytes: number;
  readonly inodesUsed: number;
  /** Milliseconds since the Unix epoch. */
  readonly atMs: number;
}

/** What the runtime says of its storage. */
export interface RuntimeStorage {
  /** What containers have written into their own layers, by the runtime's ids. */
  readonly layers: ReadonlyMap<string, StorageUse>;
  readonly images: StorageUse | undefined;
  /** What all containers together have written; that of the images where the runtime makes no difference. */
  readonly containers: StorageUse | undefined;
}

/** The volumes of pods by the pods' UIDs. */
export type VolumeReadings = ReadonlyMap<string, readonly VolumeReading[]>;

/** Containers of one answer. */
const PAGE = 1_000;

/** The usage of a file system as CRI tells it; numbers are decimal. */
interface CriUsage {
  readonly timestamp?: string;
  readonly fsId?: { readonly mountpoint?: string };
  readonly usedBytes?: { readonly value?: string };
  readonly inodesUsed?: { readonly value?: string };
}

/** Asks the runtime. Rejects where it does not answer. */
export async function runtimeStorage(bus: Bus, clock: Clock): Promise<RuntimeStorage> {
  const [layers, { result }] = await Promise.all([
    allLayers(bus, clock),
    bus.call(criCommands.ImageFsInfo, bus.node, { params: {} }),
  ]);
  const { imageFilesystems, containerFilesystems } = result.response;
  const images = useOf(imageFilesystems?.[0], clock);
  return { layers, images, containers: useOf(containerFilesystems?.[0], clock) ?? images };
}

async function allLayers(bus: Bus, clock: Clock): Promise<Map<string, StorageUse>> {
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

/** Asks volume-manager. */
export async function volumeReadings(bus: Bus): Promise<VolumeReadings> {
  const { result } = await bus.call(volumeStats, bus.node, {});
  const readings = Object.entries(result.pods).map(
    ([uid, volumes]) =>
      [uid, volumes.map(({ readAt, local, ...volume }) => ({ ...volume, atMs: readAt, isLocal: local }))] as const,
  );
  return new Map(readings);
}
