import { type Quantity, type ResourceList, formatQuantity, parseQuantity } from '@kubus/contracts';
import { hasErrno } from '@kubus/ports';
import { readFileSync, readdirSync, statfsSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { dirname } from 'node:path';
import type { NodeConfig } from './node-config.ts';

const HUGEPAGES = '/sys/kernel/mm/hugepages';

/** What the node has for its pods (kubelet behaviour 1.16): what the machine has, without what is kept back. */
export function nodeResources({ pods, reserved }: Pick<NodeConfig, 'pods' | 'reserved'>): ResourceList {
  const capacity = {
    cpu: String(availableParallelism()),
    memory: kibibytes(BigInt(totalmem())),
    'ephemeral-storage': kibibytes(storageOf(pods.root)),
    pods: String(pods.max),
    ...hugepages(),
  };
  return allocatable(capacity, [reserved.system, reserved.kube]);
}

/** Never less than nothing; memory also without what is set aside as huge pages. */
export function allocatable(capacity: ResourceList, reserved: readonly ResourceList[]): ResourceList {
  const setAside = Object.entries(capacity).flatMap(([name, amount]) =>
    name.startsWith('hugepages-') ? [amount] : [],
  );
  return Object.fromEntries(
    Object.entries(capacity).map(([name, text]) => {
      const { nano, format } = quantity(text);
      const kept = [...reserved.map((list) => list[name] ?? '0'), ...(name === 'memory' ? setAside : [])];
      const left = kept.reduce((rest, amount) => rest - quantity(amount).nano, nano);
      return [name, formatQuantity({ nano: left < 0n ? 0n : left, format })];
    }),
  );
}

function quantity(text: string): Quantity {
  return parseQuantity(text) ?? { nano: 0n, format: 'DecimalSI' };
}

function kibibytes(bytes: bigint): string {
  return `${bytes / 1024n}Ki`;
}

/** Bytes of the file system that holds a folder, which may still have to be made. */
function storageOf(folder: string): bigint {
  try {
    const { blocks, bsize } = statfsSync(folder, { bigint: true });
    return blocks * bsize;
  } catch (error) {
    if (!hasErrno(error, 'ENOENT')) throw error;
    return storageOf(dirname(folder));
  }
}

/** What the kernel has set aside as huge pages, by their size. */
function hugepages(): ResourceList {
  let names: string[];
  try {
    names = readdirSync(HUGEPAGES);
  } catch {
    return {};
  }
  return Object.fromEntries(
    names.flatMap((name) => {
      const size = /^hugepages-(\d+)kB$/.exec(name)?.[1];
      if (size === undefined) return [];
      const bytes = BigInt(size) * 1024n;
      const count = BigInt(readFileSync(`${HUGEPAGES}/${name}/nr_hugepages`, 'utf8').trim());
      const binary = (amount: bigint) => formatQuantity({ nano: amount * 1_000_000_000n, format: 'BinarySI' });
      return [[`hugepages-${binary(bytes)}`, binary(bytes * count)]];
    }),
  );
}
