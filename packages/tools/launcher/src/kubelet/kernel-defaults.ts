import { toError } from '@kubus/ports';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LauncherError } from '../errors.ts';

/** The settings of the kernel that the reference wants (behaviour:qos-and-cgroups), as paths below /proc/sys. */
const WANTED = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};

/**
 * Checks the kernel's settings, where the configuration protects them (protectKernelDefaults).
 *
 * @throws LauncherError `KernelDefaults` in the reference's words.
 */
export async function checkKernelDefaults(isProtected: boolean, sysctls = '/proc/sys'): Promise<void> {
  if (!isProtected) return;
  const problems: string[] = [];
  for (const [flag, wanted] of Object.entries(WANTED)) {
    try {
      const actual = Number(await readFile(join(sysctls, flag), 'utf8'));
      if (actual === wanted) continue;
      problems.push(`invalid kernel flag: ${flag}, expected value: ${wanted}, actual value: ${actual}`);
    } catch (error) {
      problems.push(toError(error).message);
    }
  }
  if (problems.length === 0) return;
  const all = problems.length === 1 ? problems.join() : `[${problems.join(', ')}]`;
  throw new LauncherError('KernelDefaults', `Failed to start ContainerManager: ${all}`);
}
