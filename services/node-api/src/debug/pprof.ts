import { Function as PprofFunction, Line, Location, Profile, Sample, StringTable, ValueType } from 'pprof-format';
import type { HeapProfiler, Profiler } from 'node:inspector';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** V8's description of a function on the stack. */
type CallFrame = Profiler.ProfileNode['callFrame'];

/** One node of a call tree: its function, its parent, and its counts. */
interface Place {
  readonly callFrame: CallFrame;
  readonly parent: Place | undefined;
  readonly values: readonly number[];
}

const NS_PER_US = 1_000;
/** V8's name for idle time. */
const IDLE = '(idle)';

/**
 * A CPU profile in pprof's format: how often and for how many nanoseconds each stack was seen.
 *
 * @see https://github.com/google/pprof/blob/main/proto/profile.proto
 */
export async function cpuPprof(profile: Profiler.Profile): Promise<Uint8Array> {
  const counts = new Map<number, [number, number]>();
  const { nodes, samples = [], timeDeltas = [] } = profile;
  samples.forEach((id, index) => {
    const [count, ns] = counts.get(id) ?? [0, 0];
    counts.set(id, [count + 1, ns + Math.max(0, timeDeltas[index] ?? 0) * NS_PER_US]);
  });
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const places = new Map<number, Place>();
  const placeOf = (id: number): Place | undefined => {
    const node = byId.get(id);
    const known = places.get(id);
    if (known !== undefined || node === undefined) return known;
    const parent = parents.get(id);
    const above = parent === undefined ? undefined : placeOf(parent);
    const place = { callFrame: node.callFrame, parent: above, values: counts.get(id) ?? ([0, 0] as const) };
    places.set(id, place);
    return place;
  };
  const all = nodes.map(({ id }) => placeOf(id)).filter((place) => place !== undefined);
  const durationNanos = (profile.endTime - profile.startTime) * NS_PER_US;
  return encode(
    all.filter(({ callFrame }) => callFrame.functionName !== IDLE),
    {
      units: [
        ['samples', 'count'],
        ['cpu', 'nanoseconds'],
      ],
      durationNanos,
    },
  );
}

/** What was allocated during the profile and is still in use, in pprof's format: bytes by allocating stack. */
export async function heapPprof({ head }: HeapProfiler.SamplingHeapProfile): Promise<Uint8Array> {
  type Node = HeapProfiler.SamplingHeapProfileNode;
  const all: Place[] = [];
  const left: { node: Node; parent: Place | undefined }[] = [{ node: head, parent: undefined }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { node, parent } = next;
    const place = { callFrame: node.callFrame, parent, values: [node.selfSize] };
    all.push(place);
    left.push(...node.children.map((child) => ({ node: child, parent: place })));
  }
  return encode(all, { units: [['inuse_space', 'bytes']], durationNanos: undefined });
}

interface Meaning {
  readonly units: readonly (readonly [string, string])[];
  readonly durationNanos: number | undefined;
}

/** Compressed with gzip, as tools expect it. */
async function encode(places: readonly Place[], { units, durationNanos }: Meaning): Promise<Uint8Array> {
  const stringTable = new StringTable();
  const functions = new Map<string, PprofFunction>();
  const locations = new Map<string, Location>();
  const locationOf = ({ functionName, url, lineNumber }: CallFrame): number => {
    const name = stringTable.dedup(functionName === '' ? '(anonymous)' : functionName);
    const functionKey = `${functionName}\n${url}`;
    const key = `${functionKey}\n${lineNumber}`;
    const known = locations.get(key);
    if (known !== undefined) return Number(known.id);
    const it =
      functions.get(functionKey) ??
      new PprofFunction({ id: functions.size + 1, name, systemName: name, filename: stringTable.dedup(url) });
    functions.set(functionKey, it);
    const location = new Location({
      id: locations.size + 1,
      line: [new Line({ functionId: it.id, line: lineNumber + 1 })],
    });
    locations.set(key, location);
    return Number(location.id);
  };
  const sample = places
    .filter(({ values }) => values.some((value) => value > 0))
    .map((place) => new Sample({ locationId: stackOf(place).map(locationOf), value: [...place.values] }));
  const valueTypes = units.map(
    ([type, unit]) => new ValueType({ type: stringTable.dedup(type), unit: stringTable.dedup(unit) }),
  );
  const profile = new Profile({
    sampleType: valueTypes,
    sample,
    location: [...locations.values()],
    function: [...functions.values()],
    stringTable,
    ...(durationNanos !== undefined && { durationNanos }),
  });
  return promisify(gzip)(await profile.encodeAsync());
}

/** The innermost call first; without the root, which is not a function. */
function stackOf(place: Place): CallFrame[] {
  const stack: CallFrame[] = [];
  for (let at: Place | undefined = place; at !== undefined; at = at.parent) {
    if (at.parent !== undefined) stack.push(at.callFrame);
  }
  return stack;
}
