import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/** Both tables of TCP connections of this network namespace (proc(5)); a server of both families is in the second one. */
const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
/** The kernel's numbers of the states in which a process still reads: ESTABLISHED, CLOSE_WAIT. */
const READS: ReadonlySet<string> = new Set(['01', '08']);

/**
 * Whether the process at the other end of a connection within this machine still reads from it. One that does not may
 * have written more than has arrived here: the kernel sends the rest on, until anything is sent to that end; then it
 * discards the rest and resets the connection (RFC 9293 section 3.6.1).
 *
 * True when the tables do not have that end: it is not in this network namespace.
 */
export async function peerReads({ localPort = 0, remotePort = 0 }: Socket): Promise<boolean> {
  const tables = await Promise.all(TABLES.map((table) => readFile(table, 'latin1').catch(() => '')));
  return portsStillRead(tables.join(''), remotePort, localPort);
}

/** The same of the tables' text. */
export function portsStillRead(tables: string, from: number, to: number): boolean {
  const row = new RegExp(`^ *\\d+: [0-9A-F]+:${hex(from)} [0-9A-F]+:${hex(to)} ([0-9A-F]{2}) `, 'gm');
  const states = [...tables.matchAll(row)].map(([, state = '']) => state);
  return states.length === 0 || states.some((state) => READS.has(state));
}

function hex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}
