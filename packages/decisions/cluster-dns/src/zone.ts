import { type KubeObject, asList, asText } from '@kubus/kube-objects';
import {
  type Endpoint,
  addressLabel,
  addressesOf,
  endpointsOfPods,
  endpointsOfSlices,
  hasAddress,
} from './endpoints.ts';
import { isAddress, isName, reverseName } from './names.ts';

/** The data of a record; its owner and its time to live are those of the answer. */
export type DnsRecord =
  | { readonly type: 'A' | 'AAAA' | 'CNAME' | 'PTR' | 'TXT'; readonly data: string }
  | {
      readonly type: 'SRV';
      readonly data: { readonly port: number; readonly target: string; readonly weight: number };
    };

/** What the names are made of. */
interface ZoneObjects {
  readonly services: readonly KubeObject[];
  readonly slices: readonly KubeObject[];
  readonly pods: readonly KubeObject[];
}

/** All names that a node answers. */
export interface Zone {
  /** In lower case, without a dot at its end. Empty: only names of addresses are answered. */
  readonly domain: string;
  /** By name in lower case, without a dot at its end. */
  readonly records: ReadonlyMap<string, readonly DnsRecord[]>;
  /** Names without records of their own, below which there are names. */
  readonly between: ReadonlySet<string>;
}

/** The version of the specification. */
const SCHEMA = '1.1.0';
/** The label by which an EndpointSlice belongs to a service. */
const SERVICE_NAME = 'kubernetes.io/service-name';
/** What the weights of a service's records add up to. */
const WEIGHTS = 100;

/**
 * The names of services and pods, by the Kubernetes DNS specification (kubernetes/dns, docs/specification.md).
 *
 * A service with a cluster IP is answered as a headless one, with the addresses of its endpoints: on a node without a proxy nothing forwards its cluster IP.
 * Only pods that exist have names.
 */
export function zoneOf(domain: string, { services, slices, pods }: ZoneObjects): Zone {
  const zone = domain.toLowerCase().replace(/\.$/, '');
  const records = new Map<string, DnsRecord[]>();
  const add = (name: string, record: DnsRecord) => {
    if (!isName(name) || !isName(targetOf(record) ?? name)) return;
    const known = records.get(name) ?? [];
    if (known.length === 0) records.set(name, known);
    if (!known.some((one) => isSame(one, record))) known.push(record);
  };
  if (zone !== '') {
    add(`dns-version.${zone}`, { type: 'TXT', data: SCHEMA });
    const reached = pods.filter(hasAddress);
    const podsIn = Map.groupBy(reached, ({ metadata }) => metadata.namespace ?? '');
    const slicesOf = Map.groupBy(slices, ({ metadata }) => `${metadata.namespace}/${metadata.labels?.[SERVICE_NAME]}`);
    for (const service of services) {
      const { name, namespace = '' } = service.metadata;
      const endpoints = [
        ...endpointsOfSlices(service, slicesOf.get(`${namespace}/${name}`) ?? []),
        ...endpointsOfPods(service, podsIn.get(namespace) ?? []),
      ].filter(({ address }) => isAddress(address));
      addService(`${name}.${namespace}.svc.${zone}`.toLowerCase(), service, endpoints, add);
    }
    for (const pod of reached) {
      for (const address of addressesOf(pod).filter(isAddress)) {
        const owner = `${addressLabel(address)}.${pod.metadata.namespace}.pod.${zone}`;
        add(owner.toLowerCase(), addressRecord(address));
      }
    }
  }
  return { domain: zone, records, between: namesBetween(records.keys(), zone) };
}

type Add = (name: string, record: DnsRecord) => void;

function addService(owner: string, { spec = {} }: KubeObject, endpoints: readonly Endpoint[], add: Add): void {
  if (spec['type'] === 'ExternalName') {
    const data = asText(spec['externalName']).replace(/\.$/, '').toLowerCase();
    if (data !== '') add(owner, { type: 'CNAME', data });
    return;
  }
  for (const address of asList(spec['clusterIPs']).map(asText).filter(isAddress)) {
    add(reverseName(address), { type: 'PTR', data: owner });
  }
  for (const { address, hostname } of endpoints) {
    const own = `${hostname.toLowerCase()}.${owner}`;
    add(owner, addressRecord(address));
    add(own, addressRecord(address));
    add(reverseName(address), { type: 'PTR', data: own });
  }
  const weight = Math.max(1, Math.floor(WEIGHTS / endpoints.length));
  for (const { hostname, ports } of endpoints) {
    for (const { name, protocol, port } of ports) {
      // A port without a name has no such record.
      if (name === '') continue;
      const target = `${hostname.toLowerCase()}.${owner}`;
      add(`_${name}._${protocol}.${owner}`.toLowerCase(), { type: 'SRV', data: { port, target, weight } });
    }
  }
}

const addressRecord = (address: string): DnsRecord => ({ type: address.includes(':') ? 'AAAA' : 'A', data: address });

function isSame(one: DnsRecord, other: DnsRecord): boolean {
  if (one.type !== 'SRV' || other.type !== 'SRV') return one.type === other.type && one.data === other.data;
  return one.data.port === other.data.port && one.data.target === other.data.target;
}

/** The name that a record leads to. */
function targetOf({ type, data }: DnsRecord): string | undefined {
  if (type === 'SRV') return data.target;
  return type === 'CNAME' || type === 'PTR' ? data : undefined;
}

/** The names above these, up to the domain: they exist without records. */
function namesBetween(names: Iterable<string>, zone: string): ReadonlySet<string> {
  const between = new Set(zone === '' ? [] : [zone]);
  for (const name of names) {
    if (!name.endsWith(`.${zone}`)) continue;
    for (let above = parentOf(name); above !== zone && !between.has(above); above = parentOf(above)) between.add(above);
  }
  return between;
}

const parentOf = (name: string) => name.slice(name.indexOf('.') + 1);
