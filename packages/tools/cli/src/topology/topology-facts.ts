import { type TopologyView, topologyFactsAt, topologyView } from '@kubus/causality';
import { claimUse, deviceAllocation, deviceResource, nodeTopology, podWork } from '@kubus/contracts';
import type { RecordingReader } from '@kubus/recording';
import type { NodeLink } from '../node/node-link.ts';
import { UserError } from '../user-error.ts';

/** What a running node is like now. */
export async function liveTopology(link: NodeLink): Promise<TopologyView> {
  const [topologies, resources, allocations, claims, works] = await Promise.all([
    link.facts(nodeTopology),
    link.facts(deviceResource),
    link.facts(deviceAllocation),
    link.facts(claimUse),
    link.facts(podWork),
  ]);
  const topology = topologies.get(link.bus.node)?.value;
  if (topology === undefined) throw new UserError(`node ${link.bus.node} does not say what its machine is like`);
  return topologyView({
    topology,
    resources: [...resources].map(({ value }) => value),
    allocations: new Map([...allocations].map(({ key, value }) => [key, value])),
    claims: new Map([...claims].map(({ key, value }) => [key, value])),
    pods: new Map([...works].map(({ key, value }) => [key, `${value.ref.namespace}/${value.ref.name}`])),
  });
}

/**
 * What the node was like at a moment of a recording.
 *
 * @param at milliseconds since the Unix epoch; undefined: at its end
 */
export function recordedTopology(reader: RecordingReader, at: number | undefined): TopologyView {
  const facts = topologyFactsAt((type) => reader.all({ type }), at);
  if (facts.topology === undefined) {
    const when = at === undefined ? '' : ` up to ${new Date(at).toISOString()}`;
    throw new UserError(`recording ${reader.meta.name} does not say${when} what the machine is like`);
  }
  const pods = new Map(reader.pods().map(({ uid, namespace, name }) => [uid, `${namespace}/${name}`]));
  return topologyView({ ...facts, topology: facts.topology, pods });
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
