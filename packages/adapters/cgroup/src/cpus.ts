import { cpusOfList } from '@kubus/cgroup-config';
import { readFile } from 'node:fs/promises';

/** Numbers of the machine's processors that are online, ascending. */
export async function onlineCpus(): Promise<number[]> {
  return cpusOfList(await readFile('/sys/devices/system/cpu/online', 'utf8'));
}
