import type { ClusterNode } from '@kubus/contracts';
import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** The names and addresses that a serving certificate covers. */
export interface ServingNames {
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
}

/** How the node is reached, in stable order; undefined when there is nothing (behaviour:certificates-and-authentication). */
export function servingNames(addresses: ClusterNode['addresses']): ServingNames | undefined {
  const dnsNames = new Set<string>();
  const ips = new Set<string>();
  for (const { type, address } of addresses) {
    if (isIP(address) !== 0) {
      if (type === 'Hostname' || type === 'InternalIP' || type === 'ExternalIP') ips.add(address);
    } else if (address !== '' && (type === 'Hostname' || type === 'InternalDNS' || type === 'ExternalDNS')) {
      dnsNames.add(address);
    }
  }
  if (dnsNames.size + ips.size === 0) return undefined;
  return { dnsNames: [...dnsNames].sort(), addresses: [...ips].sort() };
}

/** Whether the certificate covers all of them. */
export function covers(certificate: X509Certificate, { dnsNames, addresses }: ServingNames): boolean {
  return (
    dnsNames.every((name) => certificate.checkHost(name, { subject: 'never', wildcards: false }) !== undefined) &&
    addresses.every((address) => certificate.checkIP(address) !== undefined)
  );
}
