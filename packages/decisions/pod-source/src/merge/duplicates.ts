import type { Pod } from '@kubus/contracts';
import { MAX_NOTES, type ManifestNote, Notes } from '../read/notes.ts';
import { type DroppedPod, uniquePods } from './merge.ts';

/** Where pods come from. */
interface PodsOfFile {
  readonly path: string;
  readonly pods: readonly Pod[];
}

/** The pods of one file that are not used, since other pods have their names or UIDs. */
export interface Duplicates {
  readonly pods: ReadonlySet<Pod>;
  readonly errors: readonly ManifestNote[];
  /** The first of them, each with the file whose pod is used. */
  readonly unused: readonly (DroppedPod & { readonly path: string })[];
}

/**
 * By path: which pods of the files are not used. Of several pods with one name or UID the first is.
 *
 * @param files in the order in which the source passes on their pods
 */
export function duplicatePods(files: Iterable<PodsOfFile>, source: string): ReadonlyMap<string, Duplicates> {
  const places = new Map<Pod, string>();
  for (const { path, pods } of files) for (const pod of pods) places.set(pod, path);
  const found = new Map<string, { pods: Set<Pod>; notes: Notes; unused: Duplicates['unused'][number][] }>();
  for (const dropped of uniquePods([...places.keys()], source).dropped) {
    const path = places.get(dropped.pod) ?? '';
    const ofOther = places.get(dropped.other) ?? '';
    const { pods, notes, unused } = found.get(path) ?? { pods: new Set(), notes: new Notes(), unused: [] };
    pods.add(dropped.pod);
    notes.add({ document: 0, field: dropped.field, message: messageOf(dropped, ofOther) });
    if (unused.length < MAX_NOTES) unused.push({ ...dropped, path: ofOther });
    found.set(path, { pods, notes, unused });
  }
  return new Map([...found].map(([path, { notes, ...rest }]) => [path, { ...rest, errors: notes.list() }]));
}

/** As the API server reports a value that must be unique. */
function messageOf({ pod, field, other }: DroppedPod, path: string): string {
  const value = field === 'metadata.uid' ? pod.metadata.uid : pod.metadata.name;
  const owner = `pod ${other.metadata.namespace}/${other.metadata.name} of ${path}`;
  return `Duplicate value: ${JSON.stringify(value)}: ${owner} has it; this pod is not run`;
}
