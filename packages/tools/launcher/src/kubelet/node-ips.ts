import { readFile } from 'node:fs/promises';
import { isIPv4, isIPv6 } from 'node:net';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { LauncherError } from '../errors.ts';

/**
 * The node's addresses (behaviour:node-object): those of `--node-ip`; else that of the interface with the default route, IPv4 before IPv6,
 * or IPv6 first for `::`. Empty when the machine has no such route.
 *
 * @throws LauncherError `BadNodeIp` for an invalid address.
 */
export async function nodeIps(flag: string): Promise<string[]> {
  const given = flag.split(',').filter((text) => text !== '');
  const wrong = given.find((text) => !isIPv4(text) && !isIPv6(text));
  if (wrong !== undefined) throw new LauncherError('BadNodeIp', `bad --node-ip "${flag}": "${wrong}" is no IP address`);
  if (given.length > 0 && !given.includes('0.0.0.0') && !given.includes('::')) return given;
  const [v4, v6] = [
    addressOf(defaultInterface4(await readTable('/proc/net/route')), 'IPv4'),
    addressOf(defaultInterface6(await readTable('/proc/net/ipv6_route')), 'IPv6'),
  ];
  const chosen = (given[0] === '::' ? [v6, v4] : [v4, v6]).find((address) => address !== undefined);
  return chosen === undefined ? [] : [chosen];
}

function readTable(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

/** The interface of the first default route in `/proc/net/route`. */
export function defaultInterface4(table: string): string | undefined {
  const rows = table.split('\n').map((line) => line.split(/\s+/));
  return rows.find(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')?.[0];
}

/** The same of `/proc/net/ipv6_route`; that of the loopback is the kernel's reject route. */
export function defaultInterface6(table: string): string | undefined {
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/));
  const row = rows.find((columns) => /^0{32}$/.test(columns[0] ?? '') && columns[1] === '00' && columns[9] !== 'lo');
  return row?.[9];
}

function addressOf(name: string | undefined, family: NetworkInterfaceInfo['family']): string | undefined {
  const addresses = (name === undefined ? undefined : networkInterfaces()[name]) ?? [];
  return addresses.find((one) => one.family === family && !one.internal && !/^fe80:/i.test(one.address))?.address;
}
