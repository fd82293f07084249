import type { StoredMessage } from '@kubus/causality';
import { encodeToken } from '@kubus/contracts';
import type { PodSummary } from '@kubus/observatory-api';
import type { RecordingReader } from '@kubus/recording';
import type { NodeLink } from './node-link.ts';
import { Pods } from './pods.ts';
import { UserError } from './user-error.ts';

/** What a node's record, or a recording, holds about one pod. */
export interface PodRecord {
  readonly uid: string;
  /** In the order of the broker; at least one. */
  readonly messages: readonly StoredMessage[];
}

/** @param name of the pod, or its UID if it is gone. */
export async function readPodRecord(link: NodeLink, name: string, namespace: string): Promise<PodRecord> {
  const uid = await uidOf(link, name, namespace);
  const messages = await link.record(`*.*.*.${encodeToken(uid)}`);
  if (messages.length === 0) throw new UserError(`the record holds no message about ${name}`);
  return { uid, messages };
}

/**
 * The same from a recording.
 *
 * @param name of the pod, or its UID; of several with the name the last one is meant.
 */
export function readRecordedPod(reader: RecordingReader, name: string, namespace: string): PodRecord {
  const { uid } = recordedPod(reader, name, namespace);
  return { uid, messages: reader.podMessages(uid) };
}

function recordedPod(reader: RecordingReader, name: string, namespace: string): PodSummary {
  const pods = reader.pods();
  const named = pods.filter((pod) => pod.name === name && pod.namespace === namespace);
  const pod = pods.find(({ uid }) => uid === name) ?? named.at(-1);
  if (pod === undefined) throw new UserError(`the recording ${reader.meta.name} has no pod ${namespace}/${name}`);
  return pod;
}

async function uidOf(link: NodeLink, name: string, namespace: string): Promise<string> {
  const pods = await Pods.read(link);
  try {
    return pods.find(name, namespace, link.bus.node).uid;
  } catch (error) {
    // A pod that is gone has no name any more, but its messages are still in the record.
    if (/^[0-9a-f-]{32,36}$/.test(name)) return name;
    throw error;
  }
}
