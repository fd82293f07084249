import {
  type CommandLine,
  type ConfigFile,
  type KubeletSettings,
  KubeletConfigError,
  type Machine,
  resolve as merge,
} from '@kubus/kubelet-config';
import { toError } from '@kubus/ports';
import { readFile, readdir, statfs } from 'node:fs/promises';
import { release } from 'node:os';
import { join, resolve } from 'node:path';

/** File system type of cgroup v2 (linux/magic.h, CGROUP2_SUPER_MAGIC). */
const CGROUP2_MAGIC = 0x63677270;

/**
 * Reads the configuration files that the flags name, and merges them with the flags.
 *
 * @throws KubeletConfigError that names flag, field and file.
 */
export async function readKubeletSettings(commandLine: CommandLine): Promise<KubeletSettings> {
  const [file, folder] = ['config', 'config-dir'].map((flag) => {
    const path = commandLine.flags.get(flag);
    return typeof path === 'string' && path !== '' ? resolve(path) : undefined;
  });
  return merge({
    commandLine,
    file: file === undefined ? undefined : await readConfig(file, 'failed to load kubelet config file'),
    dropIns: folder === undefined ? [] : await readDropIns(folder),
    machine: await lookAtMachine(),
  });
}

async function readConfig(path: string, failed: string): Promise<ConfigFile> {
  try {
    return { path, text: await readFile(path, 'utf8') };
  } catch (cause) {
    const message = `${failed}, path: ${path}, error: ${toError(cause).message}`;
    throw new KubeletConfigError('bad-kubelet-config', message, { cause, context: { path } });
  }
}

/** The `*.conf` files of the folder and its subfolders, in the order of a sorted walk. */
async function readDropIns(folder: string): Promise<ConfigFile[]> {
  const failed = 'failed to merge kubelet configs: failed to load kubelet dropin file';
  const files: ConfigFile[] = [];
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
    const message = `failed to merge kubelet configs: failed to walk through kubelet dropin directory "${folder}": ${toError(cause).message}`;
    throw new KubeletConfigError('bad-kubelet-config', message, { cause, context: { path: folder } });
  });
  for (const entry of entries.sort((one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) files.push(...(await readDropIns(path)));
    else if (entry.name.endsWith('.conf')) files.push(await readConfig(path, failed));
  }
  return files;
}

async function lookAtMachine(): Promise<Machine> {
  const { type } = await statfs('/sys/fs/cgroup');
  const swaps = await readFile('/proc/swaps', 'utf8').catch(() => '');
  return {
    cgroupVersion: type === CGROUP2_MAGIC ? 2 : 1,
    swap: swaps.trim().split('\n').length > 1,
    kernel: release(),
  };
}
