import { execFile } from 'node:child_process';
import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkout } from '../kubus-command.ts';
import { debianBase, packDebian } from './base-image.ts';
import type { DockerEngine } from './docker-engine.ts';

const run = promisify(execFile);

/** Names of the images of the Dockerfile's targets and of the NATS server that {@link makeNodeImages} builds. */
export const nodeImages = { kubus: 'kubus-test', containerd: 'kubus-test-containerd', nats: 'kubus-test-nats' };

const bases = { debian: 'kubus-test-debian', containerd: 'kubus-test-runtime' };

/**
 * Builds the images of a node of containers on an engine, from this checkout and this machine's files.
 *
 * @param folder for intermediate files
 */
export async function makeNodeImages(engine: DockerEngine, folder: string): Promise<void> {
  const packed = async (image: string, packages: readonly string[]) => {
    const content = join(folder, image);
    await packDebian(content, packages);
    // The health check in docker-compose.yml expects the official image of NATS, which has busybox.
    if (packages.includes('busybox-static')) await symlink('busybox', join(content, 'usr/bin/wget'));
    const program = packages.includes('nats-server') ? ['ENTRYPOINT ["nats-server"]'] : [];
    await engine.importFolder(content, image, program);
    await rm(content, { recursive: true });
  };
  const runtime = ['ca-certificates', 'containerd', 'containernetworking-plugins', 'iptables', 'runc'];
  await packed(bases.debian, debianBase);
  await packed(bases.containerd, [...debianBase, ...runtime]);
  await packed(nodeImages.nats, [...debianBase, 'busybox-static', 'nats-server']);
  const parts = join(folder, 'parts');
  const script = join(checkout, 'packages/tools/launcher/scripts/image-parts.mjs');
  await run(process.execPath, ['--disable-warning=ExperimentalWarning', script, parts]);
  const build = [
    ...['build', '--quiet', '--network', 'host', '--build-context', `parts=${parts}`],
    ...['--build-arg', `BUILD_IMAGE=${bases.debian}`, '--build-arg', `BASE_IMAGE=${bases.debian}`],
  ];
  await engine.docker([...build, '--tag', nodeImages.kubus, checkout]);
  const base = `containerd-base=docker-image://${bases.containerd}`;
  const target = ['--build-context', base, '--target', 'containerd'];
  await engine.docker([...build, ...target, '--tag', nodeImages.containerd, checkout]);
}
