import { type Quantity, type ResourceList, formatQuantity, parseQuantity, quantityUnits } from '@kubus/contracts';

const NANO = 1_000_000_000n;
const HUGEPAGES = 'hugepages-';

/** What pods do not get of the machine. */
export interface Reserved {
  readonly system: ResourceList;
  readonly kube: ResourceList;
  /** Least amounts by eviction signal, such as `memory.available`: a quantity, or a percentage of the capacity. */
  readonly evictionHard: Readonly<Record<string, string>>;
}

/** The signals below whose thresholds no pod gets anything, and what they are about. */
const EVICTION_RESOURCES: Readonly<Record<string, string>> = {
  'memory.available': 'memory',
  'nodefs.available': 'ephemeral-storage',
};

/**
 * What the node has for its pods (kubelet behaviour 1.16, capacity): never less than nothing; memory also without what is
 * set aside as huge pages.
 */
export function allocatableOf(capacity: ResourceList, { system, kube, evictionHard }: Reserved): ResourceList {
  const setAside = Object.entries(capacity).flatMap(([name, amount]) =>
    name.startsWith(HUGEPAGES) ? [{ memory: amount }] : [],
  );
  return withoutReserved(capacity, [system, kube, evictionReserve(capacity, evictionHard), ...setAside]);
}

/** A capacity without what is kept back of it, never less than nothing. */
export function withoutReserved(capacity: ResourceList, reserved: readonly ResourceList[]): ResourceList {
  return Object.fromEntries(
    Object.entries(capacity).map(([name, text]) => {
      const { nano, format } = quantity(text);
      const left = reserved.reduce((rest, list) => rest - quantity(list[name] ?? '0').nano, nano);
      return [name, formatQuantity({ nano: left < 0n ? 0n : left, format })];
    }),
  );
}

/** What a hard eviction threshold keeps free. Percentages are single precision, as the reference has them. */
function evictionReserve(capacity: ResourceList, thresholds: Reserved['evictionHard']): ResourceList {
  return Object.fromEntries(
    Object.entries(thresholds).flatMap(([signal, threshold]) => {
      const resource = EVICTION_RESOURCES[signal];
      if (resource === undefined) return [];
      if (!threshold.endsWith('%')) return [[resource, threshold]];
      const share = Math.fround(Math.fround(Number(threshold.slice(0, -1))) / 100);
      const kept = Math.trunc(Number(quantityUnits(quantity(capacity[resource] ?? '0'))) * share);
      return [[resource, String(kept)]];
    }),
  );
}

export function isHugePages(name: string): boolean {
  return name.startsWith(HUGEPAGES);
}

/** The same amount, however it is written. */
export function sameQuantity(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const [left, right] = [parseQuantity(a), parseQuantity(b)];
  return left === undefined || right === undefined ? a === b : left.nano === right.nano;
}

/** Bytes in the form in which capacities are written. */
export function binaryQuantity(bytes: bigint): string {
  return formatQuantity({ nano: bytes * NANO, format: 'BinarySI' });
}

function quantity(text: string): Quantity {
  return parseQuantity(text) ?? { nano: 0n, format: 'DecimalSI' };
}
