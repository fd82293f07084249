/** An IPv4 range: its first address as a number, and the bits of its prefix. */
interface Range {
  readonly first: number;
  readonly bits: number;
}

/** Routes with a shorter prefix lead everywhere, as those of a VPN (`0.0.0.0/1`) do. */
const SHORTEST = 2;

/**
 * The first of the IPv4 CIDRs that no route leads into or is part of; undefined when each overlaps one.
 *
 * @param destinations of routes, as `ip route` prints them: an address, a CIDR or `default`
 */
export function freeSubnet(candidates: readonly string[], destinations: readonly string[]): string | undefined {
  const taken = destinations.flatMap((text) => rangeOf(text) ?? []).filter(({ bits }) => bits >= SHORTEST);
  return candidates.find((candidate) => {
    const range = rangeOf(candidate);
    return range !== undefined && !taken.some((other) => overlaps(range, other));
  });
}

/** The first address of an IPv4 CIDR after that of the network: the gateway of its pods, as the plugin `host-local` chooses it. */
export function gatewayOf(subnet: string): string {
  const first = (rangeOf(subnet)?.first ?? 0) + 1;
  return [24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join('.');
}

function rangeOf(text: string): Range | undefined {
  const [, ...parts] = /^(\d+)\.(\d+)\.(\d+)\.(\d+)(?:\/(\d+))?$/.exec(text) ?? [];
  if (parts.length === 0) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = parts.map(Number);
  return { first: ((a * 256 + b) * 256 + c) * 256 + d, bits: Number(parts[4] ?? 32) };
}

function overlaps(one: Range, other: Range): boolean {
  const size = 2 ** (32 - Math.min(one.bits, other.bits));
  return Math.floor(one.first / size) === Math.floor(other.first / size);
}
