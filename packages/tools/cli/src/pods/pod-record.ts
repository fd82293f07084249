import type { StoredMessage } from '@kubus/bus';
import { payloadOf } from '@kubus/causality';
import { podPatterns, podWorkSchema } from '@kubus/contracts';
import type { PodSummary } from '@kubus/contracts/observatory';
import type { RecordingReader } from '@kubus/recording';
import type { NodeLink } from '../node/node-link.ts';
import { Pods, matchesName } from './pods.ts';
import { UserError } from '../user-error.ts';

/** The messages about one pod in a node's record or in a recording. */
export interface PodRecord {
  readonly uid: string;
  /** In the order in which NATS stored them. */
  readonly messages: readonly StoredMessage[];
}

/**
 * The messages about a pod in the node's record.
 *
 * @param name of the pod, or its UID; a name that no pod has means the last removed one that had it.
 * @param options.mayBeEmpty whether a record without messages about the pod is no error
 * @throws UserError when the node has no such pod, or the record no message about it.
 */
export async function readPodRecord(
  link: NodeLink,
  name: string,
  namespace: string,
  { mayBeEmpty = false }: { mayBeEmpty?: boolean } = {},
): Promise<PodRecord> {
  const uid = await uidOf(link, name, namespace);
  const messages = await link.record(...podPatterns(uid));
  if (messages.length === 0 && !mayBeEmpty)
    throw new UserError(`the record of node ${link.bus.node} has no message about pod ${name}: it may be too old`);
  return { uid, messages };
}

/**
 * The messages about a pod in a recording.
 *
 * @param name of the pod, or its UID; with several pods of that name, the last one.
 */
export function readRecordedPod(reader: RecordingReader, name: string, namespace: string): PodRecord {
  const { uid } = recordedPod(reader, name, namespace);
  return { uid, messages: reader.podMessages(uid) };
}

function recordedPod(reader: RecordingReader, name: string, namespace: string): PodSummary {
  const pods = reader.pods();
  const named = pods.filter((pod) => pod.name === name && pod.namespace === namespace);
  const pod = pods.find(({ uid }) => uid === name) ?? named.at(-1);
  if (pod === undefined) throw new UserError(`recording ${reader.meta.name} has no pod ${namespace}/${name}`);
  return pod;
}

async function uidOf(link: NodeLink, name: string, namespace: string): Promise<string> {
  const pods = await Pods.read(link);
  try {
    return pods.find(name, namespace, link.bus.node).uid;
  } catch (error) {
    // A removed pod has no name any more, but its messages are still in the record.
    if (/^[0-9a-f-]{32,36}$/.test(name)) return name;
    const uid = lastOfName(await link.record(WORK_OF_PODS), name, namespace, link.bus.node);
    if (uid === undefined) throw error;
    return uid;
  }
}

/** What sync-loop says of each pod, relative to the node's subject: it names the pod. */
const WORK_OF_PODS = 'sync.fact.pod.*';
const workSchema = podWorkSchema.pick({ ref: true });

/** The UID of the last pod of this name among the messages about pods, see {@link matchesName}. */
export function lastOfName(
  messages: readonly StoredMessage[],
  name: string,
  namespace: string,
  node: string,
): string | undefined {
  for (const { message } of messages.toReversed()) {
    const { ref } = workSchema.safeParse(payloadOf(message)).data ?? {};
    if (ref?.namespace === namespace && matchesName(name, ref, node)) return ref.uid;
  }
  return undefined;
}
