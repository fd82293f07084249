import { type Quantity, type ResourceList, formatQuantity, parseQuantity, quantityUnits } from '@kubus/contracts';

const NANO = 1_000_000_000n;
const HUGEPAGES = 'hugepages-';

/** The resources of the machine that are reserved and not available to pods. */
export interface Reserved {
  readonly system: ResourceList;
  readonly kube: ResourceList;
  /** Minimum amounts by eviction signal, such as `memory.available`: a quantity, or a percentage of the capacity. */
  readonly evictionHard: Readonly<Record<string, string>>;
}

/** The eviction signals whose thresholds are reserved, and the resource of each. */
const EVICTION_RESOURCES: Readonly<Record<string, string>> = {
  'memory.available': 'memory',
  'nodefs.available': 'ephemeral-storage',
};

/**
 * The allocatable resources of the node (behaviour:node-object, capacity): never less than zero; memory also excludes
 * huge pages.
 */
export function allocatableOf(capacity: ResourceList, { system, kube, evictionHard }: Reserved): ResourceList {
  const setAside = Object.entries(capacity).flatMap(([name, amount]) =>
    name.startsWith(HUGEPAGES) ? [{ memory: amount }] : [],
  );
  return withoutReserved(capacity, [system, kube, evictionReserve(capacity, evictionHard), ...setAside]);
}

/** A capacity minus what is reserved, never less than zero. */
export function withoutReserved(capacity: ResourceList, reserved: readonly ResourceList[]): ResourceList {
  return Object.fromEntries(
    Object.entries(capacity).map(([name, text]) => {
      const { nano, format } = quantity(text);
      const left = reserved.reduce((rest, list) => rest - quantity(list[name] ?? '0').nano, nano);
      return [name, formatQuantity({ nano: left < 0n ? 0n : left, format })];
    }),
  );
}

/** What is reserved of each resource, in base units: for the system, for the node's programs, and by hard eviction thresholds. */
export function reservedAmounts(capacity: ResourceList, { system, kube, evictionHard }: Reserved): ResourceList {
  const lists = [system, kube, evictionReserve(capacity, evictionHard)];
  const names = new Set(lists.flatMap((list) => Object.keys(list)));
  const sum = (name: string) => lists.reduce((nano, list) => nano + quantity(list[name] ?? '0').nano, 0n);
  return Object.fromEntries([...names].map((name) => [name, formatQuantity({ nano: sum(name), format: 'DecimalSI' })]));
}

/** The amounts that hard eviction thresholds reserve. Percentages have single precision, as in the reference. */
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

/** Whether both are the same amount, regardless of their notation. */
export function sameQuantity(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const [left, right] = [parseQuantity(a), parseQuantity(b)];
  return left === undefined || right === undefined ? a === b : left.nano === right.nano;
}

/** Bytes, in the notation of capacities. */
export function binaryQuantity(bytes: bigint): string {
  return formatQuantity({ nano: bytes * NANO, format: 'BinarySI' });
}

function quantity(text: string): Quantity {
  return parseQuantity(text) ?? { nano: 0n, format: 'DecimalSI' };
}
