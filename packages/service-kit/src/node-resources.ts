import type { ResourceList } from '@kubus/contracts';
import { allocatableOf, binaryQuantity } from '@kubus/node-status';
import { hasErrno } from '@kubus/ports';
import { readFileSync, readdirSync, statfsSync } from 'node:fs';
import { arch, cpus, totalmem } from 'node:os';
import { dirname } from 'node:path';
import type { NodeConfig } from './node-config.ts';

const HUGEPAGES = '/sys/kernel/mm/hugepages';

/** How Go, and so Kubernetes, names what Node calls otherwise. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' };

/** The machine's architecture in Kubernetes' words: `amd64`, `arm64`. */
export function architecture(): string {
  return ARCHITECTURES[arch()] ?? arch();
}

/** What the machine has, whoever may use it (kubelet behaviour 1.16, Capacity). */
export function nodeCapacity({ pods }: Pick<NodeConfig, 'pods'>): ResourceList {
  return {
    cpu: String(cpus().length),
    memory: kibibytes(BigInt(totalmem())),
    'ephemeral-storage': kibibytes(storageOf(pods.root)),
    pods: String(pods.max),
    ...hugepages(),
  };
}

/** What the node has for its pods: what the machine has, without what is kept back. */
export function nodeResources(config: Pick<NodeConfig, 'pods' | 'reserved'>): ResourceList {
  return allocatableOf(nodeCapacity(config), config.reserved);
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
      return [[`hugepages-${binaryQuantity(bytes)}`, binaryQuantity(bytes * count)]];
    }),
  );
}
