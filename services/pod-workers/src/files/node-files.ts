import { readFile } from 'node:fs/promises';

/** The machine's own hosts file, for pods in its network. */
export function readNodeHosts(): Promise<string> {
  return readFile('/etc/hosts', 'utf8');
}

/** The content of the file that gives pods the node's own DNS configuration; undefined when none is configured. */
export async function readResolvConf(path: string): Promise<string | undefined> {
  return path === '' ? undefined : readFile(path, 'utf8');
}
