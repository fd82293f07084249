import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HarnessError } from '../errors.ts';

const run = promisify(execFile);

/** Documentation that nobody reads in an image. */
const leftOut = /^\/usr\/share\/(doc|man|locale|info|lintian|bash-completion)\//;
/** Links into /usr, on a machine whose packages still say otherwise. */
const merged = ['bin', 'sbin', 'lib', 'lib64'];

/** What an image of Debian has beside what it is for. */
export const debianBase = [
  ...['base-files', 'base-passwd', 'bash', 'coreutils', 'dash', 'findutils', 'grep', 'gzip', 'libc-bin', 'libstdc++6'],
  ...['mount', 'passwd', 'sed', 'tar', 'util-linux'],
];

/** Fills a folder with the files that these packages, and what they depend on, have on this machine. */
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
      // Of alternatives the first; one that is not installed is somebody else's to provide.
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
  // A set goes on to what is added while it is walked through.
  for (const name of found) {
    for (const need of depends.get(name) ?? []) if (depends.has(need) && need !== '') found.add(need);
  }
  return [...found];
}

/** What a package lists and somebody has removed is left out. */
async function copyFiles(paths: readonly string[], folder: string): Promise<void> {
  const script = 'cd / && tar --no-recursion --ignore-failed-read --null -T - -c 2>/dev/null | tar -C "$1" -x';
  const copy = spawn('sh', ['-c', script, 'copy', folder], { stdio: ['pipe', 'ignore', 'inherit'] });
  const exited = once(copy, 'exit') as Promise<[number | null]>;
  copy.stdin.end(paths.join('\0'));
  const [code] = await exited;
  if (code !== 0) throw new HarnessError('CopyFailed', `the files of packages can not be copied to ${folder}`);
}
