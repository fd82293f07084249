import type { ResourceList } from '@kubus/contracts';
import { type Reserved, allocatableOf, binaryQuantity } from '@kubus/node-status';
import { hasErrno } from '@kubus/ports';
import { readFileSync, readdirSync, statfsSync } from 'node:fs';
import { arch, cpus, totalmem } from 'node:os';
import { dirname } from 'node:path';
import type { NodeConfig } from './node-config.ts';

const HUGEPAGES = '/sys/kernel/mm/hugepages';

/** Architecture names of Go, and so of Kubernetes, where Node.js uses others. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' };

/** The machine's architecture in the terms of Kubernetes: `amd64`, `arm64`. */
export function architecture(): string {
  return ARCHITECTURES[arch()] ?? arch();
}

/** The resources of the machine (behaviour:node-object, Capacity). */
export function nodeCapacity({ pods, eviction }: Pick<NodeConfig, 'pods' | 'eviction'>): ResourceList {
  return {
    cpu: String(cpus().length),
    memory: kibibytes(BigInt(totalmem())),
    ...(eviction.storageLimits && { 'ephemeral-storage': kibibytes(storageOf(pods.root)) }),
    pods: String(pods.max),
    ...hugepages(),
  };
}

/** The node's resources for pods: those of the machine, minus what is reserved. */
export function nodeResources(
  config: Pick<NodeConfig, 'pods' | 'eviction'> & { readonly reserved: Reserved },
): ResourceList {
  return allocatableOf(nodeCapacity(config), config.reserved);
}

function kibibytes(bytes: bigint): string {
  return `${bytes / 1024n}Ki`;
}

/** Size in bytes of the file system of a folder that may still have to be created. */
function storageOf(folder: string): bigint {
  try {
    const { blocks, bsize } = statfsSync(folder, { bigint: true });
    return blocks * bsize;
  } catch (error) {
    if (!hasErrno(error, 'ENOENT')) throw error;
    return storageOf(dirname(folder));
  }
}

/** The huge pages that the kernel has reserved, by their size. */
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
      return [[`hugepages-${binaryQuantity(bytes)}`, binaryQuantity(bytes * count)]];
    }),
  );
}
