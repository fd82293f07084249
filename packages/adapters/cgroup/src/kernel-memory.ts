import { access, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CgroupError } from './cgroup-maker.ts';
import type { CgroupMounts } from './hierarchies.ts';

/** What this kernel can do about the memory of cgroups. */
export interface KernelMemory {
  readonly cgroupVersion: 1 | 2;
  /** Bytes, ascending. */
  readonly hugepageSizes: readonly bigint[];
  /** It accounts for swap, so that it can be limited. */
  readonly accountsForSwap: boolean;
  /** Bytes. */
  readonly pageSize: bigint;
}

export async function kernelMemory({ version, controllers }: CgroupMounts): Promise<KernelMemory> {
  return {
    cgroupVersion: version,
    hugepageSizes: await kernelHugepageSizes(),
    accountsForSwap: await exists(await swapLimitFile(version, controllers.get('memory') ?? '')),
    pageSize: await kernelPageSize(),
  };
}

/** The file that only a kernel which accounts for swap has. In v2 the topmost cgroup has none: our own is asked. */
async function swapLimitFile(version: 1 | 2, mount: string): Promise<string> {
  if (version === 1) return join(mount, 'memory.memsw.limit_in_bytes');
  const own = /^0::(.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8'))?.[1] ?? '';
  return join(mount, own, 'memory.swap.max');
}

/** What the kernel tells each process about itself: pairs of numbers (getauxval(3)). */
const AUXILIARY = '/proc/self/auxv';
const AT_PAGESZ = 6n;

async function kernelPageSize(): Promise<bigint> {
  const pairs = await readFile(AUXILIARY);
  for (let at = 0; at + 16 <= pairs.length; at += 16) {
    if (pairs.readBigUInt64LE(at) === AT_PAGESZ) return pairs.readBigUInt64LE(at + 8);
  }
  throw new CgroupError('page-size', `${AUXILIARY} does not have the size of a page`);
}

/** Sizes in bytes of the huge pages of this kernel, ascending. */
export async function kernelHugepageSizes(): Promise<bigint[]> {
  const names = await readdir('/sys/kernel/mm/hugepages').catch(() => []);
  const sizes = names.flatMap((name) => {
    const kilobytes = /^hugepages-(\d+)kB$/.exec(name)?.[1];
    return kilobytes === undefined ? [] : [BigInt(kilobytes) * 1024n];
  });
  return sizes.sort((a, b) => (a < b ? -1 : 1));
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
