// node packages/launcher/scripts/image-parts.mjs FOLDER: what the container image consists of beside its base, as a file system.
// The workspace has to be built before. See docs/containers.md.
import { buildImages } from '@kubus/node-images';
import { execFile } from 'node:child_process';
import { chmod, copyFile, cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { compileNatives } from '../src/natives.ts';

const checkout = resolve(import.meta.dirname, '../../..');
const [target] = process.argv.slice(2);
if (target === undefined) {
  console.error('usage: node image-parts.mjs FOLDER');
  process.exit(2);
}
const root = resolve(target);
await rm(root, { recursive: true, force: true });
const programs = join(root, 'usr/lib/kubus');

const built = ['packages/cli', 'packages/launcher', 'packages/observatory-page', 'packages/contract-document'];
for (const service of await readdir(join(checkout, 'services'))) built.push(join('services', service));
for (const part of built) {
  // Source maps are a half of a bundle; who debugs a container has the sources elsewhere.
  await cp(join(checkout, part, 'dist'), join(programs, part, 'dist'), {
    recursive: true,
    filter: (path) => !path.endsWith('.map'),
  });
}

const cache = join(checkout, '.kubus/cache');
const natives = await compileNatives(cache);
const names = {
  'kubus-cni': natives.shim,
  relay: natives.relay,
  'stream-relay': natives.streamRelay,
  'keep-service': natives.keepService,
  'check-service': natives.checkService,
};
await mkdir(join(programs, 'native'), { recursive: true });
for (const [name, program] of Object.entries(names)) await place(program, join(programs, 'native', name));

const container = join(checkout, 'packages/launcher/container');
await mkdir(join(root, 'usr/local/bin'), { recursive: true });
await place(join(container, 'kubus'), join(root, 'usr/local/bin/kubus'));
await place(join(container, 'start-containerd'), join(programs, 'start-containerd'));
for (const folder of ['config', 'identities', 'manifests', 'overlay']) {
  await mkdir(join(root, 'etc/kubus', folder), { recursive: true });
}

// The Node that has built it, and what it was built of.
await mkdir(join(root, 'usr/bin'), { recursive: true });
await place(process.execPath, join(root, 'usr/bin/node'));
// What debuggers need is a seventh of it.
await promisify(execFile)('strip', [join(root, 'usr/bin/node')]);
const doc = join(root, 'usr/share/doc/kubus');
await mkdir(doc, { recursive: true });
const sbom = [
  'sbom',
  '--sbom-format',
  'cyclonedx',
  '--sbom-spec-version',
  '1.6',
  '--sbom-type',
  'application',
  '--prod',
];
await promisify(execFile)('pnpm', [...sbom, '--out', join(doc, 'sbom.cdx.json')], { cwd: checkout });

// Of no use to services: for the image with the runtime.
const images = join(root, 'usr/share/kubus/images');
await mkdir(images, { recursive: true });
for (const { reference, archive } of await buildImages(cache)) {
  await copyFile(archive, join(images, `${reference.replaceAll(/[/:]/g, '-')}.tar`));
}

async function place(from, to) {
  await copyFile(from, to);
  await chmod(to, 0o755);
}
