import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { compileStatic } from './compile.ts';
import { NodeImageError } from './errors.ts';
import { type BuiltImage, type ImageSpec, buildImage } from './oci-image.ts';
import type { TarEntry } from './tar.ts';

const run = promisify(execFile);

/** The busybox image of every private node. */
export const busyboxReference = 'docker.io/library/busybox:1.35';
/** The sandbox image, for containerd's configuration. */
export const pauseReference = 'registry.k8s.io/pause:3.10';

const path = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/**
 * Builds the images of a private node from installed packages, without a registry. Archives and the compiled pause program are written to
 * `outDir`, which is the cache of later calls.
 */
export async function buildImages(outDir: string): Promise<BuiltImage[]> {
  const busybox = await busyboxSpec();
  const pause = await pauseSpec(outDir);
  return Promise.all([busybox, pause].map((spec) => buildImage(spec, outDir)));
}

/** Builds a busybox image with another name and labels, which give it another digest. */
export async function buildBusybox(
  change: Pick<ImageSpec, 'reference' | 'labels'>,
  outDir: string,
): Promise<BuiltImage> {
  return buildImage({ ...(await busyboxSpec()), ...change }, outDir);
}

/** The layout of the official image: every applet in /bin, and `env` also in /usr/bin. */
async function busyboxSpec(): Promise<ImageSpec> {
  const binary = await staticBusybox();
  const { stdout } = await run(binary, ['--list']);
  const applets = stdout.split('\n').filter((applet) => applet !== '' && applet !== 'busybox');
  return {
    reference: busyboxReference,
    files: [...(await busyboxFiles(binary)), ...applets.map((applet) => link(`bin/${applet}`, 'busybox'))],
    command: ['sh'],
    env: path,
  };
}

async function busyboxFiles(binary: string): Promise<TarEntry[]> {
  return [
    { type: 'directory', path: 'bin' },
    { type: 'file', path: 'bin/busybox', mode: 0o755, content: await readFile(binary) },
    link('usr/bin/env', '../../bin/env'),
    {
      type: 'file',
      path: 'etc/passwd',
      content: [
        'root:x:0:0:root:/root:/bin/sh',
        'daemon:x:1:1:daemon:/usr/sbin:/bin/false',
        'www-data:x:33:33:www-data:/var/www:/bin/false',
        'nobody:x:65534:65534:nobody:/home:/bin/false',
        '',
      ].join('\n'),
    },
    {
      type: 'file',
      path: 'etc/group',
      content: ['root:x:0:', 'daemon:x:1:', 'www-data:x:33:', 'nobody:x:65534:', ''].join('\n'),
    },
    { type: 'file', path: 'etc/shadow', mode: 0o600, content: 'root:*:19000:0:99999:7:::\n' },
    { type: 'directory', path: 'home', uid: 65534, gid: 65534 },
    { type: 'directory', path: 'root', mode: 0o700 },
    { type: 'directory', path: 'tmp', mode: 0o1777 },
    { type: 'directory', path: 'var/www', uid: 33, gid: 33 },
  ];
}

/** The machine's statically linked busybox, which needs no shared libraries in the image. */
async function staticBusybox(): Promise<string> {
  for (const candidate of ['/bin/busybox', '/usr/bin/busybox']) {
    const content = await readFile(candidate).catch(() => undefined);
    if (content && !content.includes('/ld-linux')) {
      return candidate;
    }
  }
  throw new NodeImageError(
    'BusyboxMissing',
    'No statically linked busybox in /bin or /usr/bin: install the package busybox-static',
  );
}

async function pauseSpec(outDir: string): Promise<ImageSpec> {
  const program = await compileStatic(fileURLToPath(new URL('pause.c', import.meta.url)), outDir);
  return {
    reference: pauseReference,
    files: [{ type: 'file', path: 'pause', mode: 0o755, content: await readFile(program) }],
    entrypoint: ['/pause'],
    user: '65535:65535',
    workingDir: '/',
    env: path,
  };
}

function link(from: string, target: string): TarEntry {
  return { type: 'symlink', path: from, target };
}
