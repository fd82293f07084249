import { zoneOf } from '@kubus/cluster-dns';
import { aliasRecords, answerOf, questionOf, readQuery } from '@kubus/dns-server';

const metadata = { namespace: 'team', uid: 'u', resourceVersion: '1', creationTimestamp: '' };
const service = (name: string, spec: Record<string, string>) => {
  return { apiVersion: 'v1', kind: 'Service', metadata: { ...metadata, name }, spec };
};
const addresses = Array.from({ length: 100 }, (_, index) => `10.88.0.${index}`);
const labels = { 'kubernetes.io/service-name': 'web' };
const zone = zoneOf('cluster.local', {
  services: [service('web', {}), service('out', { type: 'ExternalName', externalName: 'example.org' })],
  slices: [
    {
      ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4', endpoints: [{ addresses }] },
      ...{ metadata: { ...metadata, name: 'web', labels }, ports: [{ name: 'http', port: 80 }] },
    },
  ],
  pods: [],
});

/** A question of a pod, with its answer; and the same bytes as another server's answer to where an alias leads. */
export function askNames(bytes: Buffer): void {
  const rest = aliasRecords(bytes);
  const read = readQuery(bytes);
  if (read === undefined || !('query' in read)) return;
  const { query } = read;
  const own = answerOf(zone, query, true);
  if (own === undefined) return;
  if ('alias' in own) readQuery(questionOf(query, own.alias));
  const answer = 'bytes' in own ? own.bytes : own.finish(rest);
  // The question may be longer than what else an answer may have.
  if (answer.length > 1_232) throw new Error(`not so: an answer over UDP is in one packet: ${answer.length}`);
}
