import { base64Decode, base64Encode } from '@bufbuild/protobuf/wire';
import { checksum, mapText, sortedMap } from '@kubus/exclusive';
import { parsedJson } from '@kubus/pod';
import * as z from 'zod';

/** The devices of one resource that a container has. */
export interface AllocationEntry {
  /** UID of the pod. */
  readonly pod: string;
  readonly container: string;
  readonly resource: string;
  readonly devices: readonly { readonly id: string; readonly numaNodes: readonly number[] }[];
  /** The plugin's answer, a ContainerAllocateResponse (device plugin API v1beta1). */
  readonly answer: Uint8Array;
}

/** What the reference kubelet's device manager keeps. */
export interface DeviceCheckpoint {
  readonly entries: readonly AllocationEntry[];
  /** By resource: IDs of its healthy devices; none when its plugin is not connected. */
  readonly resources: Readonly<Record<string, readonly string[]>>;
}

/** Key of devices that belong to no NUMA node. */
const NO_NODE = '-1';

const ids = z.array(z.string()).nullable();
const dataSchema = z.object({
  PodDeviceEntries: z
    .array(
      z.object({
        PodUID: z.string(),
        ContainerName: z.string(),
        ResourceName: z.string(),
        DeviceIDs: z.record(z.string().regex(/^-?\d+$/), ids).nullable(),
        AllocResp: z.base64().nullable(),
      }),
    )
    .nullable(),
  RegisteredDevices: z.record(z.string(), ids).nullable(),
});
type Data = z.infer<typeof dataSchema>;
type Entry = NonNullable<Data['PodDeviceEntries']>[number];
const fileSchema = z.object({ Data: dataSchema, Checksum: z.int().nonnegative() });

/** The text of the reference kubelet's checkpoint `kubelet_internal_checkpoint` (1.36). */
export function deviceCheckpoint({ entries, resources }: DeviceCheckpoint): string {
  const all = entries.map(entryOf);
  const data: Data = {
    PodDeviceEntries: all.length === 0 ? null : all,
    RegisteredDevices: sortedMap(resources, (healthy) => [...healthy]),
  };
  return JSON.stringify({ Data: data, Checksum: checksum(textOf(data)) });
}

/** What a checkpoint has, or why the reference kubelet does not use it. */
export function parseDeviceCheckpoint(text: string): DeviceCheckpoint | { readonly problem: string } {
  const file = fileSchema.safeParse(parsedJson(text));
  if (!file.success) return { problem: `it is not a checkpoint: ${file.error.issues[0]?.message ?? ''}` };
  const { Data: data, Checksum: sum } = file.data;
  if (checksum(textOf(data)) !== sum) return { problem: 'checkpoint is corrupted' };
  return {
    entries: (data.PodDeviceEntries ?? []).map((one) => ({
      ...{ pod: one.PodUID, container: one.ContainerName, resource: one.ResourceName, devices: devicesOf(one) },
      answer: base64Decode(one.AllocResp ?? ''),
    })),
    resources: Object.fromEntries(
      Object.entries(data.RegisteredDevices ?? {}).map(([resource, healthy]) => [resource, healthy ?? []]),
    ),
  };
}

function entryOf({ pod, container, resource, devices, answer }: AllocationEntry): Entry {
  const byNode: Record<string, string[]> = {};
  for (const { id, numaNodes } of devices) {
    for (const node of numaNodes.length === 0 ? [NO_NODE] : numaNodes.map(String)) (byNode[node] ??= []).push(id);
  }
  return {
    ...{ PodUID: pod, ContainerName: container, ResourceName: resource },
    ...{ DeviceIDs: byNode, AllocResp: base64Encode(answer) },
  };
}

function devicesOf({ DeviceIDs }: Entry): AllocationEntry['devices'] {
  const nodes = new Map<string, number[]>();
  for (const [node, devices] of Object.entries(DeviceIDs ?? {})) {
    for (const id of devices ?? []) {
      const known = nodes.get(id) ?? [];
      nodes.set(id, node === NO_NODE ? known : [...known, Number(node)]);
    }
  }
  return [...nodes].map(([id, numaNodes]) => ({ id, numaNodes }));
}

/** As the reference kubelet's structure looks as text. */
function textOf({ PodDeviceEntries: entries, RegisteredDevices: registered }: Data): string {
  const all = orNil(entries, (list) => `[${list.map(entryText).join(' ')}]`);
  const resources = orNil(registered, (map) => mapText(map, idsText));
  const fields = `PodDeviceEntries:([]checkpoint.PodDevicesEntry)${all} RegisteredDevices:(map[string][]string)${resources}`;
  return `(checkpoint.checkpointData){${fields}}`;
}

function entryText({ PodUID, ContainerName, ResourceName, DeviceIDs, AllocResp }: Entry): string {
  const names = `PodUID:(string)${PodUID} ContainerName:(string)${ContainerName} ResourceName:(string)${ResourceName}`;
  const devices = orNil(DeviceIDs, (map) => mapText(map, idsText));
  const answer = orNil(AllocResp, (text) => `[${base64Decode(text).join(' ')}]`);
  return `{${names} DeviceIDs:(checkpoint.DevicesPerNUMA)${devices} AllocResp:([]uint8)${answer}}`;
}

function idsText(list: readonly string[] | null): string {
  return orNil(list, (some) => `[${some.join(' ')}]`);
}

function orNil<T>(value: T | null, of: (value: T) => string): string {
  return value === null ? '<nil>' : of(value);
}
