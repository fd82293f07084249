import { KubusError } from '@kubus/ports';
import * as z from 'zod';
import type { NodeAddress } from './node-object.ts';

/** Thrown when an address, configured or of the machine, cannot be the node's. */
class AddressError extends KubusError {}

/** The annotation that passes the configured addresses to an external cloud controller. */
export const PROVIDED_IPS = 'alpha.kubernetes.io/provided-node-ip';

export interface AddressInput {
  /** As configured (--node-ip): none, one, or one of each family. `0.0.0.0` or `::` name only the preferred family. */
  readonly nodeIps: readonly string[];
  readonly hostname: string;
  /** A cloud controller sets the addresses. */
  readonly externalCloud: boolean;
  /** The addresses of the Node object. */
  readonly existing: readonly NodeAddress[];
  /** The addresses of all of the machine's interfaces. */
  readonly ofMachine: readonly string[];
  /** The addresses to which the node's name resolves. */
  readonly resolved: readonly string[];
  /** Addresses of the interface with the default route. */
  readonly ofDefaultRoute: readonly string[];
}

/**
 * The Node's addresses (behaviour:node-object, Addresses).
 *
 * @throws AddressError naming the field or the node when there is none.
 */
export function nodeAddresses(input: AddressInput): readonly NodeAddress[] {
  const { nodeIps, hostname, externalCloud, existing } = input;
  const configured = nodeIps.filter((ip) => !isUnspecified(ip));
  for (const [index, ip] of nodeIps.entries()) {
    const problem = isUnspecified(ip) ? undefined : addressProblem(ip, input.ofMachine);
    if (problem !== undefined) throw new AddressError('bad-node-ip', `nodeIps.${index}: ${problem}`);
  }
  const host: NodeAddress = { type: 'Hostname', address: hostname };
  if (externalCloud && existing.length > 0) return existing;
  if (externalCloud && nodeIps.length === 0) return [host];
  const found = configured.length > 0 ? configured : [chosenIp(input)];
  return [...found.map((address) => ({ type: 'InternalIP', address })), host];
}

/** The configured addresses for a cloud controller; undefined: the annotation must not exist. */
export function providedIps({ nodeIps, externalCloud }: Pick<AddressInput, 'nodeIps' | 'externalCloud'>) {
  const configured = nodeIps.filter((ip) => !isUnspecified(ip));
  return externalCloud && configured.length > 0 ? configured.join(',') : undefined;
}

/** In this order: a host name that is an address, the addresses of the node's name, those of the interface with the default route. */
function chosenIp({ nodeIps, hostname, ofMachine, resolved, ofDefaultRoute }: AddressInput): string {
  const family = nodeIps[0]?.includes(':') === true ? 6 : 4;
  if (familyOf(hostname) !== undefined) return hostname;
  const usable = resolved.filter((ip) => addressProblem(ip, ofMachine) === undefined);
  const routed = ofDefaultRoute.filter((ip) => addressProblem(ip, ofMachine) === undefined);
  for (const candidates of [usable, routed]) {
    const ip = candidates.find((one) => familyOf(one) === family) ?? candidates[0];
    if (ip !== undefined) return ip;
  }
  throw new AddressError(
    'no-address',
    `nodeIps: none is configured, and neither the addresses of ${hostname} nor the default route provide one`,
  );
}

/** Why an address cannot be the node's, with the reference's text. */
function addressProblem(ip: string, ofMachine: readonly string[]): string | undefined {
  const family = familyOf(ip);
  if (family === undefined) return `nodeIP must be a valid IP address`;
  if (family === 4 ? ip.startsWith('127.') : ip === '::1') return `nodeIP can't be loopback address`;
  if (family === 4 ? /^2(2[4-9]|3\d)\./.test(ip) : /^ff/i.test(ip)) return `nodeIP can't be a multicast address`;
  if (family === 4 ? ip.startsWith('169.254.') : /^fe[89ab]/i.test(ip)) {
    return `nodeIP can't be a link-local unicast address`;
  }
  if (!ofMachine.includes(ip)) return `node IP: "${ip}" not found in the host's network interfaces`;
  return undefined;
}

function isUnspecified(ip: string): boolean {
  return ip === '0.0.0.0' || ip === '::';
}

function familyOf(text: string): 4 | 6 | undefined {
  if (z.ipv4().safeParse(text).success) return 4;
  return z.ipv6().safeParse(text).success ? 6 : undefined;
}
