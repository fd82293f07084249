import { COMPLETE, ROOT, encodeToken, factPattern, type AnyFact } from '@kubus/contracts';

/**
 * A node in names on the broker. A node name is a DNS subdomain, so replacing its dots with `_` keeps names distinct and valid
 * for JetStream.
 */
export function nodeToken(node: string): string {
  return node.replaceAll('.', '_');
}

/** The account of a node's streams, which has its name: no reply subject of a service can name anything in it. */
export function streamsAccount(node: string): string {
  return node;
}

/** The account of a node's services, command line programs and readers. It is no name of a node. */
export function busAccount(node: string): string {
  return `${node}/bus`;
}

/** The part of the JetStream API of the streams' account that exists in the services' account. */
export const STREAMS_API = 'STREAMS.API';

/** The bucket of the node's facts. */
function bucketName(node: string): string {
  return `kubus_${nodeToken(node)}`;
}

/** The stream behind the bucket. */
export function bucketStream(node: string): string {
  return `KV_${bucketName(node)}`;
}

/** The subject under which a fact is stored. Its copy for readers is published on {@link nodeSubject}. */
export function storeSubject(node: string, key: string): string {
  return `$KV.${bucketName(node)}.${key}`;
}

/** The subject on which readers receive a fact. */
export function nodeSubject(node: string, key: string): string {
  return `${ROOT}.${encodeToken(node)}.${key}`;
}

/** The stream that keeps the node's recent messages. */
export function recordStream(node: string): string {
  return `KUBUS_${nodeToken(node)}`;
}

/** Prefix of the subjects on which an identity receives answers of the broker itself. */
export function inboxPrefix(instance: string): string {
  return `_INBOX.${instance}`;
}

/** The filter of a consumer that loads the current values of a fact. */
export function storePattern(node: string, declaration: Pick<AnyFact, 'area' | 'name' | 'version'>): string {
  return storeSubject(node, factPattern(declaration));
}

/** Whether a subject of the store is that of a completion mark. */
export function isCompletion(subject: string): boolean {
  return subject.includes(`.${COMPLETE}.`);
}
