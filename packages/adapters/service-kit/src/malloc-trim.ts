import { KubusError } from '@kubus/ports';

/**
 * Loads native/malloc-trim.c.
 *
 * @param addon its compiled file
 * @returns gives the free pages within malloc's heap back to the kernel, in 1 ms for each 10 MiB.
 * @throws KubusError `config` when it cannot be loaded; `cause` is the linker's error.
 */
export function loadMallocTrim(addon: string): () => void {
  const loaded: { exports: unknown } = { exports: {} };
  try {
    process.dlopen(loaded, addon);
  } catch (cause) {
    throw new KubusError('config', `mallocTrim: cannot load ${addon}`, { cause });
  }
  const { exports: trim } = loaded;
  if (typeof trim !== 'function') throw new KubusError('config', `mallocTrim: ${addon} is another addon`);
  return () => void Reflect.apply(trim, undefined, []);
}
