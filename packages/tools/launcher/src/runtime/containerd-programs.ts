import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runCommand } from '../processes/command.ts';
import { LauncherError } from '../errors.ts';

/** One installation of containerd and what belongs to it. */
export interface ContainerdPrograms {
  readonly containerd: string;
  readonly ctr: string;
  readonly runc: string;
  /** As it says itself, such as `1.6.20~ds1` or `2.1.9+unknown`. */
  readonly version: string;
  readonly major: number;
  /** PATH for containerd: it looks there for the shim, and the shim for runc. */
  readonly path: string;
}

/**
 * The machine's containerd, or the one at `where`: its binary, or a folder that holds it directly, in `bin` or in
 * `usr/bin`. The client and shim beside it are taken with it; runc too, unless it does not run here (a package of a
 * newer distribution may need a newer libc than the rest).
 *
 * @throws LauncherError `ContainerdMissing`.
 */
export async function findContainerd(where?: string): Promise<ContainerdPrograms> {
  const machinePath = process.env['PATH'] ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  if (where === undefined) {
    const version = await versionOf('containerd');
    return { containerd: 'containerd', ctr: 'ctr', runc: 'runc', ...version, path: machinePath };
  }
  const containerd = await binaryAt(where);
  const folder = dirname(containerd);
  const beside = async (program: string) => {
    const candidate = join(folder, program);
    return (await runs(candidate)) ? candidate : program;
  };
  const runc = await beside('runc');
  return {
    containerd,
    ctr: await beside('ctr'),
    // By its whole path: the shim looks beside containerd first, where there may be one that does not run here.
    runc: runc === 'runc' ? await findOn(machinePath, runc) : runc,
    ...(await versionOf(containerd)),
    path: `${folder}:${machinePath}`,
  };
}

async function findOn(path: string, program: string): Promise<string> {
  for (const folder of path.split(':')) {
    const candidate = join(folder, program);
    if ((await stat(candidate).catch(() => undefined))?.isFile()) return candidate;
  }
  throw new LauncherError('ContainerdMissing', `${program} is not installed on this machine: install it`);
}

async function binaryAt(where: string): Promise<string> {
  for (const candidate of [where, ...['.', 'bin', 'usr/bin'].map((folder) => join(where, folder, 'containerd'))]) {
    if ((await stat(candidate).catch(() => undefined))?.isFile()) {
      return candidate;
    }
  }
  throw new LauncherError(
    'ContainerdMissing',
    `There is no containerd at ${where}: name its binary, or a folder that contains it, with --containerd`,
  );
}

async function runs(program: string): Promise<boolean> {
  return runCommand([program, '--version']).then(
    () => true,
    () => false,
  );
}

async function versionOf(containerd: string): Promise<{ version: string; major: number }> {
  const said = await runCommand([containerd, '--version']).catch((cause: unknown) => {
    throw new LauncherError('ContainerdMissing', `${containerd} does not run: install containerd`, { cause });
  });
  return parseVersion(said);
}

/** `containerd github.com/containerd/containerd 1.6.20~ds1 <revision>`; releases of the project itself say `v1.7.24`. */
export function parseVersion(said: string): { version: string; major: number } {
  const version = said.trim().split(' ')[2]?.replace(/^v/, '') ?? '';
  const major = Number.parseInt(version, 10);
  if (Number.isNaN(major)) {
    throw new LauncherError('ContainerdMissing', `cannot parse the version of containerd: ${said.trim()}`);
  }
  return { version, major };
}
