import { join } from 'node:path';
import { inNetworkNamespace } from './network-namespace.ts';
import type { NodeDir } from '../node/node-dir.ts';
import type { Command } from '../processes/command.ts';
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

/** Between which ports a relay forwards, and from which network namespace to which. */
interface Relayed {
  readonly dir: NodeDir;
  /** The name under which the process is recorded. */
  readonly what: string;
  /** The compiled relay. */
  readonly program: string;
  /** An IP address and a TCP port, `127.0.0.1:5000`, or a port of the loopback. */
  readonly listen: string;
  readonly server: ServerAddress;
}

/**
 * Starts a relay from a port in the node's network namespace to a server of the machine's network, whose namespace must be mounted at
 * `dir.machineNamespace`.
 */
export function startRelay({ dir, what, program, listen, server }: Relayed): Promise<StartedProcess> {
  const args = [listen, dir.machineNamespace, server.host, String(server.port)];
  return start(dir, what, inNetworkNamespace(dir.networkNamespace, [program, ...args]));
}

/** As {@link startRelay}, in the other direction: from a port of the machine to a server in the node's network namespace. */
export function startPublisher({ dir, what, program, listen, server }: Relayed): Promise<StartedProcess> {
  const args = [listen, dir.networkNamespace, server.host, String(server.port)];
  return start(dir, what, inNetworkNamespace(dir.machineNamespace, [program, ...args]));
}

function start(dir: NodeDir, what: string, command: Command): Promise<StartedProcess> {
  return startProcess({ dir, what, command, log: join(dir.logs, `${what}.log`) });
}
