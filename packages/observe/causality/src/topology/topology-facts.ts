import { HEADER, type StoredMessage } from '@kubus/bus';
import {
  type ClaimUse,
  type DeviceAllocation,
  type DeviceResource,
  type FactDeclaration,
  type NodeTopology,
  bareType,
  claimUse,
  deviceAllocation,
  deviceResource,
  keyOf,
  nodeTopology,
  typeOf,
} from '@kubus/contracts';
import { briefOf } from '../brief.ts';
import { payloadOf } from '../summary.ts';

/** Facts of a node, now or at a moment of a recording. */
export interface TopologyFacts {
  /** Undefined: not known at that moment. */
  readonly topology: NodeTopology | undefined;
  readonly resources: readonly DeviceResource[];
  /** By the UID of the pod. */
  readonly allocations: ReadonlyMap<string, DeviceAllocation>;
  /** By the UID of the pod. */
  readonly claims: ReadonlyMap<string, ClaimUse>;
}

/** The facts of a node at a moment of a recording, and when they have changed in it, in milliseconds since the Unix epoch. */
export interface RecordedTopology extends TopologyFacts {
  readonly moments: readonly number[];
}

/**
 * @param read the messages of a type, in their order
 * @param at milliseconds since the Unix epoch; undefined: at the end
 * @param now facts as they are now, of a node that goes on: what the recording never says has not changed in it
 */
export function topologyFactsAt(
  read: (type: string) => Iterable<StoredMessage>,
  at: number | undefined,
  now?: TopologyFacts,
): RecordedTopology {
  const moments = new Set<number>();
  const of = <T>(declaration: FactDeclaration<T>, known: ReadonlyMap<string, T> = new Map()) =>
    valuesAt(read(bareType(typeOf(declaration))), { declaration, at, known, moments });
  const ofNow = now?.topology === undefined ? undefined : new Map([['', now.topology]]);
  const topologies = of(nodeTopology);
  const [topology] = (topologies.said ? topologies.values : (ofNow ?? topologies.values)).values();
  const resources = of(deviceResource, new Map(now?.resources.map((one) => [one.resource, one])));
  return {
    topology,
    resources: [...resources.values.values()],
    allocations: of(deviceAllocation, now?.allocations).values,
    claims: of(claimUse, now?.claims).values,
    moments: [...moments].toSorted((a, b) => a - b),
  };
}

/** The last value of each key; of a key that no message has, the one that is known. */
function valuesAt<T>(
  messages: Iterable<StoredMessage>,
  {
    declaration,
    at = Infinity,
    known,
    moments,
  }: {
    readonly declaration: FactDeclaration<T>;
    readonly at: number | undefined;
    readonly known: ReadonlyMap<string, T>;
    readonly moments: Set<number>;
  },
): { readonly values: ReadonlyMap<string, T>; readonly said: boolean } {
  const values = new Map(known);
  const said = new Set<string>();
  for (const stored of messages) {
    const { message } = stored;
    const key = keyOf(message.subject);
    // Completion marks have no key.
    if (key.startsWith('=')) continue;
    if (!said.has(key)) values.delete(key);
    said.add(key);
    const published = briefOf(stored)?.at ?? stored.stored;
    moments.add(published);
    if (published > at) continue;
    const { data } = declaration.payload.safeParse(payloadOf(message));
    if (message.headers[HEADER.removed] !== undefined) values.delete(key);
    else if (data !== undefined) values.set(key, data);
  }
  return { values, said: said.size > 0 };
}
