import { type AddressInput, type NodeAddress, nodeAddresses } from '@kubus/node-status';
import { type Clock, type Logger, sleep, toError } from '@kubus/ports';
import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';

/** How long resolving the node's name may take, in milliseconds: nothing waits longer for a name server. */
const RESOLVE_MS = 1_000;

type Configured = Pick<AddressInput, 'nodeIps' | 'hostname' | 'externalCloud'> & { readonly node: string };

/** The node's addresses, or why there are none. */
export type FoundAddresses = { readonly addresses: readonly NodeAddress[] } | { readonly problem: string };

/** Finds the node's addresses on its machine. */
export class AddressFinder {
  readonly #configured: Configured;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #problem = '';

  constructor(configured: Configured, { clock, logger }: { clock: Clock; logger: Logger }) {
    this.#configured = configured;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The current addresses; that none can be found is logged once. */
  async find(existing: readonly NodeAddress[]): Promise<FoundAddresses> {
    const { node, ...configured } = this.#configured;
    const ofInterfaces = networkInterfaces();
    const addressesOf = (name: string) => (ofInterfaces[name] ?? []).map(({ address }) => address);
    const chosen = configured.nodeIps.some((ip) => ip !== '0.0.0.0' && ip !== '::');
    try {
      const addresses = nodeAddresses({
        ...{ ...configured, existing },
        ofMachine: Object.keys(ofInterfaces).flatMap(addressesOf),
        resolved: chosen ? [] : await this.#resolve(node),
        ofDefaultRoute: defaultRoutes().flatMap(addressesOf),
      });
      this.#problem = '';
      return { addresses };
    } catch (thrown) {
      const { message } = toError(thrown);
      if (message !== this.#problem) this.#logger.warn({ err: message }, 'cannot find the node’s addresses');
      this.#problem = message;
      return { problem: message };
    }
  }

  #resolve(name: string): Promise<readonly string[]> {
    const found = lookup(name, { all: true }).then(
      (all) => all.map(({ address }) => address),
      () => [],
    );
    return Promise.race([found, sleep(this.#clock, RESOLVE_MS).then(() => [])]);
  }
}

/** The interfaces of the default routes, those of IPv4 first (proc(5), net/route; Linux, net/ipv6/route.c). */
function defaultRoutes(): readonly string[] {
  const rows = (file: string) =>
    textOf(file)
      .split('\n')
      .map((row) => row.trim().split(/\s+/));
  const ipv4 = rows('/proc/net/route').flatMap(([name = '', destination, , , , , , mask]) =>
    destination === '00000000' && mask === '00000000' ? [name] : [],
  );
  const ipv6 = rows('/proc/net/ipv6_route').flatMap((row) => {
    const [name = ''] = row.slice(-1);
    return /^0+$/.test(row[0] ?? '') && row[1] === '00' && name !== 'lo' ? [name] : [];
  });
  return [...new Set([...ipv4, ...ipv6])];
}

/** Empty when the kernel does not have the file, such as without IPv6. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
