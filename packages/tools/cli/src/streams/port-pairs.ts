import type { Pod } from '@kubus/contracts';
import { UserError } from '../user-error.ts';

/** A local TCP port and the port of the pod to which it is forwarded. */
export interface PortPair {
  /** 0: any that is free. */
  readonly local: number;
  readonly remote: number;
}

/**
 * Parses `LOCAL:REMOTE`, `REMOTE` (the same on both sides) or `:REMOTE` (any free local port). REMOTE may be the name of a container's
 * port.
 *
 * @throws UserError for an invalid pair, or a port name that the pod does not have.
 */
export function parsePortPair(text: string, pod: Pick<Pod, 'metadata' | 'spec'>): PortPair {
  const [, local, remote = ''] = /^(?:([^:]*):)?([^:]+)$/.exec(text) ?? [];
  const to = remotePort(remote, pod);
  if (to === undefined) throw new UserError(`"${text}": pod ${pod.metadata.name} has no port "${remote}"`);
  const from = local === '' ? 0 : local === undefined ? to : portNumber(local);
  if (from === undefined) throw new UserError(`"${text}" is invalid: ports are LOCAL:REMOTE, REMOTE or :REMOTE`);
  return { local: from, remote: to };
}

function remotePort(text: string, { spec }: Pick<Pod, 'spec'>): number | undefined {
  const ports = [...spec.containers, ...(spec.initContainers ?? [])].flatMap((container) => container.ports ?? []);
  return portNumber(text) ?? ports.find(({ name }) => name === text)?.containerPort;
}

function portNumber(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}
