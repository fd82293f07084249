import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HarnessError } from '../errors.ts';
import { checkout } from '../kubus-command.ts';

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

/** Packages that `./kubus` unpacks where the machine does not have them. They need nothing but what every image has. */
const unpacked = join(checkout, '.kubus/tools');

/**
 * Fills a folder with the files that these packages and their dependencies have on this machine.
 *
 * @throws HarnessError `NotInstalled` when a package is neither installed nor unpacked, `CopyFailed`.
 */
export async function packDebian(folder: string, packages: readonly string[]): Promise<void> {
  for (const name of merged) {
    await mkdir(join(folder, 'usr', name), { recursive: true });
    await symlink(`usr/${name}`, join(folder, name));
  }
  await mkdir(join(folder, 'tmp'), { mode: 0o1777 });
  const { installed, others } = await withDependencies(packages);
  const { stdout } = await run('dpkg-query', ['--listfiles', ...installed], { maxBuffer: 64 * 1024 * 1024 });
  const files = stdout
    .split('\n')
    .filter((path) => path.startsWith('/') && !leftOut.test(path) && !merged.includes(path.slice(1)))
    .map((path) => path.replace(/^\/(bin|sbin|lib|lib64)\//, '/usr/$1/'));
  await copyFiles('/', ['/', ...new Set(files)], folder);
  for (const name of others) await copyFiles(join(unpacked, name), ['.'], folder);
  for (const name of ['passwd', 'group']) {
    await copyFile(`/usr/share/base-passwd/${name}.master`, join(folder, 'etc', name));
  }
  await run('chroot', [folder, '/sbin/ldconfig']);
}

/** The installed ones of these packages with all that they depend on, and those that are only unpacked. */
async function withDependencies(packages: readonly string[]): Promise<{ installed: string[]; others: string[] }> {
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
  const others = packages.filter((name) => !depends.has(name));
  const missing = others.filter((name) => !existsSync(join(unpacked, name)));
  if (missing.length > 0) throw new HarnessError('NotInstalled', `an image needs ${missing.join(', ')}: install them`);
  const found = new Set(packages.filter((name) => depends.has(name)));
  // Iterating a set includes what is added meanwhile.
  for (const name of found) {
    for (const need of depends.get(name) ?? []) if (depends.has(need) && need !== '') found.add(need);
  }
  return { installed: [...found], others };
}

/**
 * Leaves out files that a package lists and that were removed.
 *
 * @param paths relative to `from`; a folder's content only where `from` is not the machine itself
 */
async function copyFiles(from: string, paths: readonly string[], folder: string): Promise<void> {
  const recursion = from === '/' ? '--no-recursion' : '--recursion';
  const script =
    'cd "$1" && tar "$2" --ignore-failed-read --null -T - -c 2>/dev/null | tar -C "$3" -x --keep-directory-symlink';
  const copy = spawn('sh', ['-c', script, 'copy', from, recursion, folder], { stdio: ['pipe', 'ignore', 'inherit'] });
  const exited = once(copy, 'exit') as Promise<[number | null]>;
  copy.stdin.end(paths.join('\0'));
  const [code] = await exited;
  if (code !== 0) throw new HarnessError('CopyFailed', `files of ${from} cannot be copied to ${folder}`);
}
