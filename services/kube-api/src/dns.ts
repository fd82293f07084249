import { type Zone, zoneOf } from '@kubus/cluster-dns';
import { parseResolvConf } from '@kubus/container-config/resolv-conf';
import { DnsServer } from '@kubus/dns-server';
import type { SqliteStore } from '@kubus/kube-server';
import { type Logger, toError } from '@kubus/ports';
import { readFile } from 'node:fs/promises';

/** After which time it is tried again to listen, in milliseconds. */
const RETRY_MS = 5_000;

/** The tables that names are made of. */
const TABLES = { services: 'services', slices: 'endpointslices.discovery.k8s.io', pods: 'pods' } as const;

/** What {@link startDns} needs. */
export interface DnsOptions {
  readonly store: Pick<SqliteStore, 'list' | 'follow'>;
  /** Where pods ask, on port 53. */
  readonly address: string;
  /** The cluster's domain. */
  readonly domain: string;
  /** The resolv.conf(5) with the resolvers of all other names. It is read again for each question, since the machine may change its network. */
  readonly resolvConf: string;
  readonly logger: Logger;
}

/**
 * Answers names of services and pods. Where the address or the port cannot be had it is tried again: without names the API is still of use. Returns a
 * function that ends it.
 */
export function startDns({ store, address, domain, resolvConf, logger }: DnsOptions): () => void {
  const zones = followedZone(store, domain);
  const onError = (err: Error) => logger.warn({ err }, 'a step of the DNS server failed');
  const resolvers = async () => parseResolvConf(await readFile(resolvConf, 'utf8')).servers;
  let server: DnsServer | undefined;
  let timer: NodeJS.Timeout | undefined;
  let hasEnded = false;
  const listen = async () => {
    const next = new DnsServer({ zone: zones.zone, resolvers, onError });
    server = next;
    try {
      await next.listen(address);
      logger.info({ address, domain }, 'serving DNS');
    } catch (error) {
      if (hasEnded) return;
      logger.warn({ err: toError(error), address }, 'cannot serve DNS; it is tried again');
      timer = setTimeout(() => void listen(), RETRY_MS).unref();
    }
  };
  void listen();
  return () => {
    hasEnded = true;
    clearTimeout(timer);
    zones.end();
    server?.close();
  };
}

/** The names as the objects are now, made when the first question after a change asks for them. */
function followedZone(
  store: DnsOptions['store'],
  domain: string,
): { readonly zone: () => Zone; readonly end: () => void } {
  let made: Zone | undefined;
  const tables: readonly string[] = Object.values(TABLES);
  const end = store.follow(({ resource }) => {
    if (tables.includes(resource)) made = undefined;
  });
  const zone = () =>
    (made ??= zoneOf(domain, {
      services: store.list(TABLES.services),
      slices: store.list(TABLES.slices),
      pods: store.list(TABLES.pods),
    }));
  return { zone, end };
}
