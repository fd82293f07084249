import { HEADER } from '@kubus/bus';
import { payloadOf } from '@kubus/causality';
import {
  type FactDeclaration,
  bareType,
  deviceAllocation,
  deviceResource,
  keyOf,
  nodeTopology,
  podWork,
  typeOf,
} from '@kubus/contracts';
import type { RecordingReader } from '@kubus/recording';
import type { NodeLink } from '../node/node-link.ts';
import { UserError } from '../user-error.ts';
import type { TopologyFacts } from './topology-view.ts';

/** The facts of a running node. */
export async function liveTopology(link: NodeLink): Promise<TopologyFacts> {
  const [topologies, resources, allocations, works] = await Promise.all([
    link.facts(nodeTopology),
    link.facts(deviceResource),
    link.facts(deviceAllocation),
    link.facts(podWork),
  ]);
  const topology = topologies.get(link.bus.node)?.value;
  if (topology === undefined) throw new UserError(`node ${link.bus.node} does not say what its machine is like`);
  return {
    topology,
    resources: [...resources].map(({ value }) => value),
    allocations: new Map([...allocations].map(({ key, value }) => [key, value])),
    pods: new Map([...works].map(({ key, value }) => [key, `${value.ref.namespace}/${value.ref.name}`])),
  };
}

/**
 * The facts as they were at a moment of a recording.
 *
 * @param at milliseconds since the Unix epoch; undefined: at its end
 */
export function recordedTopology(reader: RecordingReader, at: number | undefined): TopologyFacts {
  const until = at === undefined ? {} : { to: at };
  const [topology] = valuesAt(reader, nodeTopology, until).values();
  if (topology === undefined) {
    const when = at === undefined ? '' : ` up to ${new Date(at).toISOString()}`;
    throw new UserError(`recording ${reader.meta.name} does not say${when} what the machine is like`);
  }
  return {
    topology,
    resources: [...valuesAt(reader, deviceResource, until).values()],
    allocations: valuesAt(reader, deviceAllocation, until),
    pods: new Map(reader.pods().map(({ uid, namespace, name }) => [uid, `${namespace}/${name}`])),
  };
}

/** The last value of each key. */
function valuesAt<T>(
  reader: RecordingReader,
  declaration: FactDeclaration<T>,
  until: { readonly to?: number },
): ReadonlyMap<string, T> {
  const values = new Map<string, T>();
  for (const { message } of reader.all({ type: bareType(typeOf(declaration)), ...until })) {
    const key = keyOf(message.subject);
    // Completion marks have no key.
    if (key.startsWith('=')) continue;
    const { data } = declaration.payload.safeParse(payloadOf(message));
    if (message.headers[HEADER.removed] !== undefined) values.delete(key);
    else if (data !== undefined) values.set(key, data);
  }
  return values;
}

/**
 * A moment of a recording: an ISO time, or seconds since its begin such as `+2.5`. Milliseconds since the Unix epoch.
 *
 * @throws UserError when the text is neither
 */
export function momentOf(text: string, began: number): number {
  if (/^\+\d+(\.\d+)?$/.test(text)) return began + Number(text) * 1000;
  const time = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(time))
    throw new UserError('--at: must be a time such as 2030-01-01T12:00:05Z, or seconds such as +2.5');
  return time;
}
