import { isIP } from 'node:net';
import { LauncherError } from '../errors.ts';
import { HUB_PORT } from '../nats/hub.ts';
import { NATS_PORT } from '../nats/nats-server.ts';
import { API_PORT } from './api-relay.ts';

/** A TCP port of the machine that leads to a port of a node. */
export interface PublishedPort {
  /** The machine's IP address on which it is open. */
  readonly address: string;
  readonly port: number;
  /** The port of the node: a pod's hostPort, or one that a pod with hostNetwork listens on. */
  readonly nodePort: number;
}

/**
 * Parses `[ADDRESS:]PORT:NODE_PORT`; an IPv6 address may be in brackets. The default address is the IPv4 loopback.
 *
 * @throws LauncherError `BadPublishedPort`.
 */
export function parsePublishedPort(text: string): PublishedPort {
  const [, address = '127.0.0.1', port = '', nodePort = ''] = /^(?:(.+):)?(\d+):(\d+)$/.exec(text) ?? [];
  const published = { address: address.replace(/^\[(.*)\]$/, '$1'), port: Number(port), nodePort: Number(nodePort) };
  if (isIP(published.address) !== 0 && isPort(published.port) && isPort(published.nodePort)) return published;
  throw new LauncherError('BadPublishedPort', `"${text}" is not [ADDRESS:]PORT:NODE_PORT, such as 8080:80`);
}

/** Ports of the loopback in the node's network namespace that its own programs listen on. */
const ownPorts: readonly number[] = [NATS_PORT, API_PORT, HUB_PORT];

/**
 * Parses a registry on the machine's loopback: `PORT`, `localhost:PORT` or `127.0.0.1:PORT`.
 *
 * @returns its port.
 * @throws LauncherError `BadRegistry`.
 */
export function parseRegistry(text: string): number {
  const port = Number(/^(?:localhost:|127\.0\.0\.1:)?(\d+)$/.exec(text)?.[1] ?? 0);
  if (ownPorts.includes(port)) throw new LauncherError('BadRegistry', `port ${port} is one of the node's own`);
  if (isPort(port)) return port;
  throw new LauncherError(
    'BadRegistry',
    `"${text}" is not a registry of the machine's loopback, such as localhost:5000`,
  );
}

function isPort(port: number): boolean {
  return port >= 1 && port <= 65_535;
}
