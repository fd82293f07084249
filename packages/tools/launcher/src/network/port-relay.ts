import { join } from 'node:path';
import { inNetworkNamespace } from './network-namespace.ts';
import type { NodeDir } from '../node/node-dir.ts';
import { type StartedProcess, startProcess } from '../processes/start-process.ts';

/** The address of a server in the machine's network. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** The host of a URL, without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/**
 * Starts a relay from a port of the loopback in the node's network namespace to a server of the machine's network, whose
 * namespace must be mounted at `dir.machineNamespace`.
 */
export function startRelay(options: {
  dir: NodeDir;
  /** The name under which the process is recorded. */
  what: string;
  /** The compiled relay. */
  program: string;
  port: number;
  server: ServerAddress;
}): Promise<StartedProcess> {
  const { dir, what, program, port, server } = options;
  const args = [String(port), dir.machineNamespace, server.host, String(server.port)];
  return startProcess({
    dir,
    what,
    command: inNetworkNamespace(dir.networkNamespace, [program, ...args]),
    log: join(dir.logs, `${what}.log`),
  });
}
