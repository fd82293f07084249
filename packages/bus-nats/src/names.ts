import { ROOT, encodeToken, factPattern, type AnyFact } from '@kubus/contracts';

/**
 * A node in names on the broker. A node name is a DNS subdomain, so replacing its dots by `_` keeps names apart and valid
 * for JetStream.
 */
export function nodeToken(node: string): string {
  return node.replaceAll('.', '_');
}

/** The bucket of the node's facts. */
export function bucketName(node: string): string {
  return `kubus_${nodeToken(node)}`;
}

/** The stream behind the bucket. */
export function bucketStream(node: string): string {
  return `KV_${bucketName(node)}`;
}

/** The subject under which a fact is stored. Its copy for readers goes to {@link nodeSubject}. */
export function storeSubject(node: string, key: string): string {
  return `$KV.${bucketName(node)}.${key}`;
}

/** The subject under which everybody sees a fact. */
export function nodeSubject(node: string, key: string): string {
  return `${ROOT}.${encodeToken(node)}.${key}`;
}

/** The stream that keeps the node's recent messages. */
export function recordStream(node: string): string {
  return `KUBUS_${nodeToken(node)}`;
}

/** Prefix of the subjects on which an identity gets answers of the broker itself. */
export function inboxPrefix(instance: string): string {
  return `_INBOX.${instance}`;
}

/** What a consumer that loads the present values of a fact filters by. */
export function storePattern(node: string, declaration: Pick<AnyFact, 'area' | 'name' | 'version'>): string {
  return storeSubject(node, factPattern(declaration));
}
