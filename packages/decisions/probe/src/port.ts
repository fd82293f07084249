import type { Container, IntOrString } from '@kubus/contracts';
import { ProbeErrored } from './attempt.ts';

/**
 * The port of a probe: a number, the name of a port of this container, or else a number written as text.
 * Throws {@link ProbeErrored}.
 */
export function resolvePort(port: IntOrString, container: Pick<Container, 'ports'>): number {
  const number = typeof port === 'number' ? port : portByName(port, container);
  if (number > 0 && number < 65536) return number;
  throw new ProbeErrored('unknown', `invalid port number: ${number}`);
}

function portByName(name: string, { ports = [] }: Pick<Container, 'ports'>): number {
  const named = ports.find((port) => port.name === name);
  if (named !== undefined) return named.containerPort;
  if (/^[-+]?\d+$/.test(name)) return Number(name);
  throw new ProbeErrored('unknown', `strconv.Atoi: parsing "${name}": invalid syntax`);
}
