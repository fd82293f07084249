import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { compileStatic } from './compile.ts';
import { NodeImageError } from './errors.ts';
import { type BuiltImage, type ImageSpec, buildImage } from './oci-image.ts';
import type { TarEntry } from './tar.ts';

const run = promisify(execFile);

export const busyboxReference = 'docker.io/library/busybox:1.35';
/** What containerd must be told as its sandbox image. */
export const pauseReference = 'registry.k8s.io/pause:3.10';

const path = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/**
 * The images that a private node needs, built from what the distribution installs: no registry is asked. Archives and
 * the compiled pause program go to `outDir`, which serves as the cache of the next call.
 */
export async function buildImages(outDir: string): Promise<BuiltImage[]> {
  const busybox = await busyboxSpec();
  const pause = await pauseSpec(outDir);
  return Promise.all([busybox, pause].map((spec) => buildImage(spec, outDir)));
}

/** A busybox image of another name, and with labels that make it another image. */
export async function buildBusybox(
  change: Pick<ImageSpec, 'reference' | 'labels'>,
  outDir: string,
): Promise<BuiltImage> {
  return buildImage({ ...(await busyboxSpec()), ...change }, outDir);
}

/** Where the official image has it: every applet in /bin, and `env` also where scripts look for it. */
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

/** The first of the usual places that holds a busybox without shared libraries, which an image would have to bring. */
async function staticBusybox(): Promise<string> {
  for (const candidate of ['/bin/busybox', '/usr/bin/busybox']) {
    const content = await readFile(candidate).catch(() => undefined);
    if (content && !content.includes('/ld-linux')) {
      return candidate;
    }
  }
  throw new NodeImageError('BusyboxMissing', 'No static busybox in /bin: install busybox-static');
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
