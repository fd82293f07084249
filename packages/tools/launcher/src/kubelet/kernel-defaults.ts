import { type Logger, toError } from '@kubus/ports';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LauncherError } from '../errors.ts';

/** The settings of the kernel that the reference wants (behaviour:qos-and-cgroups), as paths below /proc/sys. */
export const kernelDefaults = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
} as const;

/**
 * Gives the kernel the settings that the reference wants; where the configuration protects them (protectKernelDefaults), it only checks
 * that they are as wanted. They stay when the agent ends, as with the reference.
 *
 * @throws LauncherError `KernelDefaults` in the reference's words, when a setting is another one or cannot be written.
 */
export async function setKernelDefaults(isProtected: boolean, logger: Logger, sysctls = '/proc/sys'): Promise<void> {
  const problems: string[] = [];
  for (const [flag, wanted] of Object.entries(kernelDefaults)) {
    try {
      const file = join(sysctls, flag);
      const actual = Number(await readFile(file, 'utf8'));
      if (actual === wanted) continue;
      if (isProtected) {
        problems.push(`invalid kernel flag: ${flag}, expected value: ${wanted}, actual value: ${actual}`);
        continue;
      }
      logger.info({ flag, expectedValue: wanted, actualValue: actual }, 'Updating kernel flag');
      await writeFile(file, String(wanted));
    } catch (error) {
      problems.push(toError(error).message);
    }
  }
  if (problems.length === 0) return;
  const all = problems.length === 1 ? problems.join() : `[${problems.join(', ')}]`;
  throw new LauncherError('KernelDefaults', `Failed to start ContainerManager: ${all}`);
}
