import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeDir } from '../node/node-dir.ts';
import type { NodeSettings } from '../node/node-settings.ts';
import { compileNatives } from '../node/natives.ts';
import type { StartedProcess } from '../processes/start-process.ts';
import { DNS_PORT, NODE_DNS, dnsRelay, dnsTcpRelay, prepareDns, startDnsRelay } from './dns-relay.ts';
import { PRIVATE_NODE_IP } from './network-namespace.ts';
import { startPublisher, startRelay } from './port-relay.ts';
import { parsePublishedPort, parseRegistry } from './published-ports.ts';
import { loopbackResolver, withResolver } from './resolvers.ts';
import { prepareWayOut, startWayOut, wayOut } from './way-out.ts';

/** The machine's resolv.conf(5). */
const RESOLV_CONF = '/etc/resolv.conf';

/** What systemd-resolved asks itself, for those that do not reach its address of the loopback. */
const UPSTREAM_RESOLV_CONF = '/run/systemd/resolve/resolv.conf';

/** What connects a node with the machine's network. */
export interface ConnectionOptions {
  readonly dir: NodeDir;
  readonly settings: Pick<NodeSettings, 'network' | 'publish' | 'registries' | 'cache'>;
  /** Starts a process and keeps it running. */
  readonly keep: (what: string, start: () => Promise<StartedProcess>) => void;
  /** Default: the machine's. */
  readonly resolvConf?: string;
}

/**
 * Starts the processes that connect the node's network namespace with the machine's network: the way out with its DNS, relays to registries
 * on the machine's loopback, and published ports.
 *
 * @returns the resolv.conf of pods
 */
export async function startConnections(options: ConnectionOptions): Promise<string> {
  const { dir, settings, keep } = options;
  const natives = () => compileNatives(settings.cache);
  const { resolvConf = RESOLV_CONF } = options;
  // It needs no relays where it is: the machine's loopback is its own, and so are the machine's ports.
  if (settings.network === 'host') return resolverOfMachine(resolvConf);
  for (const text of settings.registries) {
    const port = parseRegistry(text);
    const { portRelay: program } = await natives();
    const server = { host: 'localhost', port };
    const what = `registry-${port}`;
    keep(what, () => startRelay({ dir, what, program, listen: String(port), server }));
  }
  for (const text of settings.publish) {
    const { address, port, nodePort } = parsePublishedPort(text);
    const { portRelay: program } = await natives();
    const server = { host: PRIVATE_NODE_IP, port: nodePort };
    const what = `publish-${port}`;
    keep(what, () => startPublisher({ dir, what, program, listen: `${address}:${port}`, server }));
  }
  if (settings.network !== 'nat') return resolvConf;
  await prepareWayOut(dir);
  keep(wayOut, () => startWayOut(dir));
  const machine = await readFile(resolvConf, 'utf8').catch(() => '');
  const resolver = loopbackResolver(machine);
  if (resolver === undefined) return resolvConf;
  await prepareDns(dir, resolver);
  const { dnsRelay: program, portRelay } = await natives();
  keep(dnsRelay, () => startDnsRelay(dir, program, resolver));
  const overTcp = { dir, what: dnsTcpRelay, program: portRelay, listen: `${NODE_DNS}:${DNS_PORT}` };
  keep(dnsTcpRelay, () => startRelay({ ...overTcp, server: { host: resolver, port: DNS_PORT } }));
  const own = join(dir.config, 'resolv.conf');
  await writeFile(own, withResolver(machine, NODE_DNS), { mode: 0o644 });
  return own;
}

/** The resolv.conf of pods that are on the machine's network: they do not reach its loopback. */
async function resolverOfMachine(resolvConf: string): Promise<string> {
  const machine = await readFile(resolvConf, 'utf8').catch(() => '');
  if (loopbackResolver(machine) === undefined || !existsSync(UPSTREAM_RESOLV_CONF)) return resolvConf;
  return UPSTREAM_RESOLV_CONF;
}
