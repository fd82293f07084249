import type { ClusterNode } from '@kubus/contracts';
import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** What a serving certificate is good for. */
export interface ServingNames {
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
}

/** By which the node is reached, in stable order; undefined when there is nothing (kubelet behaviour 1.25). */
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

/** Whether the certificate is good for all of them. */
export function covers(certificate: X509Certificate, { dnsNames, addresses }: ServingNames): boolean {
  return (
    dnsNames.every((name) => certificate.checkHost(name, { subject: 'never', wildcards: false }) !== undefined) &&
    addresses.every((address) => certificate.checkIP(address) !== undefined)
  );
}
