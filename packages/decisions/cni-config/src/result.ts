import * as z from 'zod';
import { CniCode, CniError, incompatibleVersion } from './cni-error.ts';
import { type CniVersion, isAtLeast, isCniVersion } from './cni-version.ts';
import { firstIssue } from './json.ts';

const address = z.union([z.cidrv4(), z.cidrv6()], { error: 'is not an address with prefix length' });
const ip = z.union([z.ipv4(), z.ipv6()], { error: 'is not an IP address' });

const dnsSchema = z.object({
  nameservers: z.array(z.string()).optional(),
  domain: z.string().optional(),
  search: z.array(z.string()).optional(),
  options: z.array(z.string()).optional(),
});

const routeSchema = z.object({
  dst: address,
  gw: ip.optional(),
  mtu: z.int().optional(),
  advmss: z.int().optional(),
  priority: z.int().optional(),
  table: z.int().optional(),
  scope: z.int().optional(),
});

/** The result of a chain, in the form of the newest version; results of every version are read into it. */
export const cniResultSchema = z.object({
  interfaces: z.array(
    z.object({
      name: z.string().min(1),
      mac: z.string().optional(),
      mtu: z.int().optional(),
      /** The network namespace of the interface; empty for an interface of the host. */
      sandbox: z.string().optional(),
      socketPath: z.string().optional(),
      pciID: z.string().optional(),
    }),
  ),
  ips: z.array(
    z.object({
      /** Address with prefix length. */
      address,
      gateway: ip.optional(),
      /** Index in `interfaces`. */
      interface: z.int().nonnegative().optional(),
    }),
  ),
  routes: z.array(routeSchema),
  dns: dnsSchema,
});

export type CniResult = z.infer<typeof cniResultSchema>;

type Route = CniResult['routes'][number];

/** Plugins print an absent list either as null or not at all. */
const absentAsEmpty = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .nullish()
    .transform((list) => list ?? []);

const dnsOrAbsent = dnsSchema.nullish().transform((dns) => dns ?? {});

/** Results since 0.3.0: those of later versions only add fields. */
const listedSchema = z.object({
  interfaces: absentAsEmpty(cniResultSchema.shape.interfaces.element),
  ips: absentAsEmpty(cniResultSchema.shape.ips.element),
  routes: absentAsEmpty(routeSchema),
  dns: dnsOrAbsent,
});

const familySchema = z
  .object({ ip: address, gateway: ip.optional(), routes: absentAsEmpty(routeSchema.pick({ dst: true, gw: true })) })
  .nullish();

/** Results of 0.1.0 and 0.2.0: one address of each family, with its routes. */
const perFamilySchema = z.object({ ip4: familySchema, ip6: familySchema, dns: dnsOrAbsent });

/**
 * Reads the result that a plugin printed after a successful ADD. Without a version, it has that of its
 * configuration (`configured`), as in libcni.
 *
 * @throws CniError with code 6 when it is not a valid result, 1 when its version is unknown.
 */
export function parseResult(stdout: string, configured: CniVersion): CniResult {
  let json: unknown;
  try {
    json = JSON.parse(stdout);
  } catch (error) {
    throw new CniError(CniCode.decodingFailure, 'the result is not JSON', { details: excerpt(stdout), cause: error });
  }
  return readResult(json, configured);
}

/** As parseResult, from JSON that is already parsed (a prevResult). */
export function readResult(json: unknown, configured: CniVersion): CniResult {
  const named = valid(z.object({ cniVersion: z.string().optional() }), json).cniVersion;
  const version = named === undefined || named === '' ? configured : named;
  if (!isCniVersion(version)) {
    throw incompatibleVersion('the result', version);
  }
  const result = isAtLeast(version, '0.3.0') ? valid(listedSchema, json) : fromPerFamily(valid(perFamilySchema, json));
  const lost = result.ips.find((entry) => (entry.interface ?? -1) >= result.interfaces.length);
  if (lost !== undefined) {
    throw new CniError(
      CniCode.decodingFailure,
      `the result gives ${lost.address} to interface ${lost.interface ?? ''}, but lists ${result.interfaces.length}`,
    );
  }
  return result;
}

/**
 * The result as a plugin prints it in `version`.
 *
 * @throws CniError with code 1 when the version's form cannot represent it (0.1.0 and 0.2.0 without any address).
 */
export function formatResult(result: CniResult, version: CniVersion): Record<string, unknown> {
  if (!isAtLeast(version, '0.3.0')) {
    return { cniVersion: version, ...toPerFamily(result, version), ...dnsOf(result) };
  }
  const newest = isAtLeast(version, '1.1.0');
  const interfaces = result.interfaces.map(({ mtu, socketPath, pciID, ...basic }) =>
    newest ? { ...basic, mtu, socketPath, pciID } : basic,
  );
  const ips = result.ips.map((entry) =>
    isAtLeast(version, '1.0.0') ? entry : { version: isIPv6(entry.address) ? '6' : '4', ...entry },
  );
  const routes = newest ? result.routes : result.routes.map(plainRoute);
  return {
    cniVersion: version,
    ...(interfaces.length > 0 && { interfaces }),
    ...(ips.length > 0 && { ips }),
    ...(routes.length > 0 && { routes }),
    ...dnsOf(result),
  };
}

/** The addresses (without prefix length) of the interface `ifname` in the result; the first one is the primary one. */
export function addressesOf(result: CniResult, ifname: string): readonly string[] {
  return result.ips
    .filter((entry) => entry.interface === undefined || result.interfaces[entry.interface]?.name === ifname)
    .map((entry) => entry.address.replace(/\/.*$/, ''));
}

/**
 * Checks that a pod can use the result: a runtime refuses a sandbox without an address on the requested interface.
 * An address without an interface belongs to that one (as in containerd).
 *
 * @throws CniError with code 999.
 */
export function requireAddress(result: CniResult, ifname: string): void {
  if (addressesOf(result, ifname).length === 0) {
    throw new CniError(CniCode.internal, `the chain gave no address to interface ${ifname}`);
  }
}

function isIPv6(text: string): boolean {
  return text.includes(':');
}

function plainRoute({ dst, gw }: Route): Route {
  return gw === undefined ? { dst } : { dst, gw };
}

function dnsOf(result: CniResult): { dns?: CniResult['dns'] } {
  return Object.values(result.dns).some((value) => value.length > 0) ? { dns: result.dns } : {};
}

function fromPerFamily({ ip4, ip6, dns }: z.infer<typeof perFamilySchema>): CniResult {
  const families = [ip4, ip6].filter((family) => family !== undefined && family !== null);
  return {
    interfaces: [],
    ips: families.map(({ ip, gateway }) => (gateway === undefined ? { address: ip } : { address: ip, gateway })),
    routes: families.flatMap(({ routes }) => routes),
    dns,
  };
}

function toPerFamily(result: CniResult, version: CniVersion): Record<string, unknown> {
  const family = (wanted: (text: string) => boolean) => {
    const first = result.ips.find((entry) => wanted(entry.address));
    if (first === undefined) {
      return undefined;
    }
    const routes = result.routes.filter((route) => wanted(route.dst)).map(plainRoute);
    return { ip: first.address, gateway: first.gateway, ...(routes.length > 0 && { routes }) };
  };
  const ip4 = family((text) => !isIPv6(text));
  const ip6 = family(isIPv6);
  if (ip4 === undefined && ip6 === undefined) {
    throw new CniError(CniCode.incompatibleVersion, `a result of CNI version ${version} must have an address`);
  }
  return { ip4, ip6 };
}

function valid<Output>(schema: z.ZodType<Output>, json: unknown): Output {
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    const { field, problem } = firstIssue(parsed.error);
    throw new CniError(
      CniCode.decodingFailure,
      `the result is not valid: ${field === '' ? problem : `${field}: ${problem}`}`,
      {
        cause: parsed.error,
      },
    );
  }
  return parsed.data;
}

/** The beginning of a plugin's output, for an error text. */
export function excerpt(text: string): string {
  const limit = 500;
  const trimmed = text.trim();
  return trimmed.length <= limit ? trimmed : `${trimmed.slice(0, limit)}...`;
}
