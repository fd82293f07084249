import { type Pod, type Quantity, type ResourceList, formatQuantity, parseQuantity } from '@kubus/contracts';
import { isSidecar } from '@kubus/pod-lifecycle';

type Amounts = ReadonlyMap<string, Quantity>;

/**
 * Requests or limits of a pod as a whole (KEP-753): its regular containers and sidecars together, or more where an init
 * container needs more together with the sidecars that are running by then; then its overhead. Pod-level resources take precedence
 * (KEP-2837). Overhead is added to a limit only where a limit exists.
 */
export function podResourceList({ spec }: Pick<Pod, 'spec'>, which: 'requests' | 'limits'): ResourceList {
  let sidecars: Amounts = new Map();
  let peak: Amounts = new Map();
  for (const container of spec.initContainers ?? []) {
    const own = read(container.resources?.[which]);
    const needed = add(sidecars, own);
    peak = greatest(peak, needed);
    if (isSidecar(container)) sidecars = needed;
  }
  const regular = spec.containers.map(({ resources }) => read(resources?.[which])).reduce(add, sidecars);
  const own = read(spec.resources?.[which]);
  const needed = new Map([...greatest(peak, regular), ...own]);
  const overhead = [...read(spec.overhead)].filter(([name]) => which === 'requests' || needed.has(name));
  return Object.fromEntries([...add(needed, new Map(overhead))].map(([name, value]) => [name, formatQuantity(value)]));
}

function read(list: ResourceList | undefined): Amounts {
  return new Map(
    Object.entries(list ?? {}).flatMap(([name, text]) => {
      const quantity = parseQuantity(text);
      return quantity === undefined ? [] : [[name, quantity] as const];
    }),
  );
}

function add(a: Amounts, b: Amounts): Amounts {
  const sum = new Map(a);
  for (const [name, { nano, format }] of b) {
    const before = sum.get(name);
    sum.set(name, before === undefined ? { nano, format } : { nano: before.nano + nano, format: before.format });
  }
  return sum;
}

function greatest(a: Amounts, b: Amounts): Amounts {
  const most = new Map(a);
  for (const [name, quantity] of b) {
    const before = most.get(name);
    if (before === undefined || before.nano < quantity.nano) most.set(name, quantity);
  }
  return most;
}
