import { runCommand } from '@kubus/launcher';
import { buildImages } from '@kubus/node-images';
import { createHash } from 'node:crypto';
import {
  access,
  chmod,
  copyFile,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { join, relative } from 'node:path';
import { GuestError } from './errors.ts';
import { type Say, withProgress } from './progress.ts';

/** The files from which a guest boots. */
export interface GuestImage {
  /** The root file system; never written to, a guest works on a copy that is thrown away. */
  readonly disk: string;
  readonly kernel: string;
  readonly initrd: string;
  /** The private key of root and of the user `dev`. */
  readonly sshKey: string;
}

const SUITE = 'trixie';
const DISK_BYTES = 12 * 1024 ** 3;
const PROGRAM_DISK_BYTES = 512 * 1024 ** 2;
const scripts = join(import.meta.dirname, '../guest');

/** What of the checkout the programs in the guest are built from; tests and documents change nothing in it. */
const builtFrom = ['kubus', 'package.json', 'pnpm-lock.yaml', 'packages', 'services', 'proto', 'scripts', 'examples'];
const notBuiltFrom = new Set(['node_modules', 'dist', 'generated', '.turbo', 'test', 'testing']);

/** What has to be installed on this machine: the program and its Debian package. */
const needed = [
  ['qemu-system-x86_64', 'qemu-system-x86'],
  ['mmdebstrap', 'mmdebstrap'],
  ['mke2fs', 'e2fsprogs'],
  ['ssh', 'openssh-client'],
] as const;

/**
 * Builds the guest at this machine's speed, before any boot: Debian with systemd, a kernel, containerd in two versions, and the
 * project as it is in `checkout`, built. What it is made of determines the names of its files in `folder`, so that nothing is
 * built twice; those of older builds are removed.
 *
 * @throws GuestError `ProgramMissing` with the packages to install; LauncherError `CommandFailed` of a step.
 */
export async function buildGuestImage(checkout: string, folder: string, say: Say): Promise<GuestImage> {
  await requirePrograms();
  await mkdir(folder, { recursive: true });
  const baseKey = await keyOf([join(scripts, 'make-base.sh'), join(scripts, 'inside-base.sh')], scripts);
  const base = join(folder, `base-${baseKey}.tar`);
  if (!(await exists(base))) {
    await removeOlder(folder, 'base-');
    await withProgress(`building Debian ${SUITE}`, say, () => runCommand([join(scripts, 'make-base.sh'), SUITE, base]));
  }
  const sources = await Promise.all(builtFrom.map((name) => filesBelow(join(checkout, name))));
  const key = await keyOf([base, join(scripts, 'install-project.sh'), ...sources.flat()], checkout);
  const image = join(folder, `image-${key}`);
  const files: GuestImage = {
    disk: join(image, 'disk.raw'),
    kernel: join(image, 'vmlinuz'),
    initrd: join(image, 'initrd'),
    sshKey: join(image, 'key'),
  };
  if (!(await exists(image))) {
    await removeOlder(folder, 'image-');
    await withProgress('building the project in it', say, () => makeImage(checkout, base, image));
  }
  return files;
}

async function makeImage(checkout: string, base: string, image: string): Promise<void> {
  const part = `${image}.part`;
  const root = join(part, 'root');
  await mkdir(root, { recursive: true });
  try {
    await runCommand(['tar', '--extract', '--file', base, '--directory', root, '--same-owner', '--exclude=./dev/*']);
    const key = join(part, 'key');
    await runCommand(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', key]);
    const images = join(part, 'images');
    await mkdir(images);
    await buildImages(images);
    const install = [join(scripts, 'install-project.sh'), root, checkout, images, key];
    await runCommand(['unshare', '--mount', '--pid', '--fork', '--kill-child', ...install]);
    const boot = await readdir(join(root, 'boot'));
    for (const [name, start] of [
      ['vmlinuz', 'vmlinuz-'],
      ['initrd', 'initrd.img-'],
    ] as const) {
      const found = boot.find((file) => file.startsWith(start));
      if (found === undefined) throw new GuestError('KernelMissing', `the guest has no /boot/${start}*`);
      await copyFile(join(root, 'boot', found), join(part, name));
    }
    const disk = join(part, 'disk.raw');
    await writeFile(disk, '');
    await truncate(disk, DISK_BYTES);
    await runCommand(['mke2fs', '-q', '-F', '-t', 'ext4', '-d', root, disk]);
    await rm(root, { recursive: true });
    await rename(part, image);
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

/** A file system with one program at its top, as a disk for the guest. */
export async function makeProgramDisk(disk: string, program: string, name: string): Promise<void> {
  const files = `${disk}.files`;
  await mkdir(files, { recursive: true });
  try {
    await copyFile(program, join(files, name));
    await chmod(join(files, name), 0o755);
    await writeFile(disk, '');
    await truncate(disk, PROGRAM_DISK_BYTES);
    await runCommand(['mke2fs', '-q', '-F', '-t', 'ext4', '-d', files, disk]);
  } finally {
    await rm(files, { recursive: true, force: true });
  }
}

async function requirePrograms(): Promise<void> {
  const missing: string[] = [];
  for (const [program, name] of needed) {
    const found = await runCommand(['sh', '-c', `command -v ${program}`]).catch(() => undefined);
    if (found === undefined) missing.push(name);
  }
  if (missing.length > 0) {
    throw new GuestError(
      'ProgramMissing',
      `the guest needs packages (Debian names): ${missing.join(', ')}. Install them`,
    );
  }
}

/** A digest of the files' contents; of an archive that carries its own key, only the name. */
async function keyOf(files: readonly string[], folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) {
    hash.update(`${relative(folder, file)}\0`);
    if (!file.endsWith('.tar')) hash.update(await readFile(file));
  }
  return hash.digest('hex').slice(0, 12);
}

/** The files below a path, or the path itself when it is a file. */
async function filesBelow(path: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return [path];
  const entries = await readdir(path, { withFileTypes: true });
  const found = await Promise.all(
    entries
      .filter((entry) => entry.isFile() || (entry.isDirectory() && !notBuiltFrom.has(entry.name)))
      .map((entry) => filesBelow(join(path, entry.name))),
  );
  return found.flat().sort();
}

async function removeOlder(folder: string, start: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith(start)) await rm(join(folder, name), { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
