import { HEADER, type StoredMessage, failureSchema } from '@kubus/bus';
import { type MergedHints, allocateDevices, bareType, mergedHintsSchema } from '@kubus/contracts';
import { recordedMessage } from '../recorded-message.ts';
import { payloadOf } from '../summary.ts';

/** Why node-agent did not give a pod its devices, CPUs or memory. */
export interface TopologyRefusal {
  readonly reason: string;
  readonly message: string;
  /** The manager that refused (`topology`, `cpu`, `memory`); undefined: a device plugin, or there were too few devices. */
  readonly by: string | undefined;
  /** What each provider had said of NUMA nodes; undefined: the node has no topology policy, or it was not asked. */
  readonly merge: MergedHints | undefined;
}

const { area, name } = allocateDevices;
/** The type of its answers. */
const ALLOCATED = `${area}.reply.${name}`;

/** The last answer to a request for a pod's devices, CPUs and memory, if it was a refusal. */
export function topologyRefusalIn(messages: readonly StoredMessage[]): TopologyRefusal | undefined {
  const answer = messages.findLast(({ message }) => {
    const status = message.headers[HEADER.status];
    if (status !== 'done' && status !== 'failed') return false;
    return bareType(recordedMessage(message)?.envelope.type ?? '') === ALLOCATED;
  });
  if (answer?.message.headers[HEADER.status] !== 'failed') return undefined;
  const { data } = failureSchema.safeParse(payloadOf(answer.message));
  if (data === undefined) return undefined;
  const { by, merge } = data.context;
  return {
    reason: data.code,
    message: data.message,
    by: typeof by === 'string' ? by : undefined,
    merge: typeof merge === 'string' ? mergeOf(merge) : undefined,
  };
}

function mergeOf(text: string): MergedHints | undefined {
  try {
    return mergedHintsSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
