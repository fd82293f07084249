import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HarnessError } from '../errors.ts';

const run = promisify(execFile);

/** Documentation, which an image does not need. */
const leftOut = /^\/usr\/share\/(doc|man|locale|info|lintian|bash-completion)\//;
/** Folders that are links into /usr, although packages may still list them. */
const merged = ['bin', 'sbin', 'lib', 'lib64'];

/** The packages that every image of Debian has. */
export const debianBase = [
  ...['base-files', 'base-passwd', 'bash', 'coreutils', 'dash', 'findutils', 'grep', 'gzip', 'libc-bin', 'libstdc++6'],
  ...['mount', 'passwd', 'sed', 'tar', 'util-linux'],
];

/**
 * Fills a folder with the files that these packages and their dependencies have on this machine.
 *
 * @throws HarnessError `NotInstalled` when a package is missing, `CopyFailed`.
 */
export async function packDebian(folder: string, packages: readonly string[]): Promise<void> {
  for (const name of merged) {
    await mkdir(join(folder, 'usr', name), { recursive: true });
    await symlink(`usr/${name}`, join(folder, name));
  }
  await mkdir(join(folder, 'tmp'), { mode: 0o1777 });
  const { stdout } = await run('dpkg-query', ['--listfiles', ...(await withDependencies(packages))], {
    maxBuffer: 64 * 1024 * 1024,
  });
  const files = stdout
    .split('\n')
    .filter((path) => path.startsWith('/') && !leftOut.test(path) && !merged.includes(path.slice(1)))
    .map((path) => path.replace(/^\/(bin|sbin|lib|lib64)\//, '/usr/$1/'));
  await copyFiles(['/', ...new Set(files)], folder);
  for (const name of ['passwd', 'group']) {
    await copyFile(`/usr/share/base-passwd/${name}.master`, join(folder, 'etc', name));
  }
  await run('chroot', [folder, '/sbin/ldconfig']);
}

async function withDependencies(packages: readonly string[]): Promise<string[]> {
  const format = '${Package}\\t${Pre-Depends}, ${Depends}\\n';
  const { stdout } = await run('dpkg-query', ['--show', '--showformat', format], { maxBuffer: 64 * 1024 * 1024 });
  const depends = new Map(
    stdout.split('\n').map((line) => {
      const [name = '', needs = ''] = line.split('\t');
      // The first of alternatives; one that is not installed is provided by another package.
      return [
        name,
        needs.split(',').map(
          (need) =>
            need
              .split('|')[0]
              ?.trim()
              .replace(/[ :(].*/, '') ?? '',
        ),
      ] as const;
    }),
  );
  const missing = packages.filter((name) => !depends.has(name));
  if (missing.length > 0) throw new HarnessError('NotInstalled', `an image needs ${missing.join(', ')}: install them`);
  const found = new Set(packages);
  // Iterating a set includes what is added meanwhile.
  for (const name of found) {
    for (const need of depends.get(name) ?? []) if (depends.has(need) && need !== '') found.add(need);
  }
  return [...found];
}

/** Leaves out files that a package lists and that were removed. */
async function copyFiles(paths: readonly string[], folder: string): Promise<void> {
  const script = 'cd / && tar --no-recursion --ignore-failed-read --null -T - -c 2>/dev/null | tar -C "$1" -x';
  const copy = spawn('sh', ['-c', script, 'copy', folder], { stdio: ['pipe', 'ignore', 'inherit'] });
  const exited = once(copy, 'exit') as Promise<[number | null]>;
  copy.stdin.end(paths.join('\0'));
  const [code] = await exited;
  if (code !== 0) throw new HarnessError('CopyFailed', `the files of packages cannot be copied to ${folder}`);
}
