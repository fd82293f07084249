import type { StoredMessage } from '@kubus/causality';
import { encodeToken } from '@kubus/contracts';
import type { NodeLink } from './node-link.ts';
import { Pods } from './pods.ts';
import { UserError } from './user-error.ts';

/** What a node's record holds about one pod. */
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
