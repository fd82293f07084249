// node packages/tools/launcher/scripts/image-parts.mjs FOLDER: writes the content of the container image, except its base, to FOLDER.
// Build the workspace first. See docs/containers.md.
import { buildImages } from '@kubus/node-images';
import { execFile } from 'node:child_process';
import { chmod, copyFile, cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { compileNatives } from '../src/node/natives.ts';

const checkout = resolve(import.meta.dirname, '../../../..');
const [target] = process.argv.slice(2);
if (target === undefined) {
  console.error('usage: node image-parts.mjs FOLDER');
  process.exit(2);
}
const root = resolve(target);
await rm(root, { recursive: true, force: true });
const programs = join(root, 'usr/lib/kubus');

const built = [
  'packages/tools/cli',
  'packages/tools/launcher',
  'packages/tools/service-host',
  'packages/observe/observatory-page',
  'packages/tools/contract-document',
];
for (const service of await readdir(join(checkout, 'services'))) built.push(join('services', service));
for (const part of built) {
  // Without source maps, which are half of a bundle.
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
  'mount-helper': natives.mountHelper,
  'malloc-trim': natives.mallocTrim,
  'keep-service': natives.keepService,
  'check-service': natives.checkService,
};
await mkdir(join(programs, 'native'), { recursive: true });
for (const [name, program] of Object.entries(names)) await place(program, join(programs, 'native', name));

const container = join(checkout, 'packages/tools/launcher/container');
await mkdir(join(root, 'usr/local/bin'), { recursive: true });
await place(join(container, 'kubus'), join(root, 'usr/local/bin/kubus'));
await place(join(container, 'start-containerd'), join(programs, 'start-containerd'));
for (const folder of ['config', 'identities', 'manifests', 'overlay']) {
  await mkdir(join(root, 'etc/kubus', folder), { recursive: true });
}

// The Node.js of this process, and the SBOM.
await mkdir(join(root, 'usr/bin'), { recursive: true });
await place(process.execPath, join(root, 'usr/bin/node'));
// Debug symbols are a seventh of it.
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

// The images that are imported at the start; only the image with the runtime uses them.
const images = join(root, 'usr/share/kubus/images');
await mkdir(images, { recursive: true });
for (const { reference, archive } of await buildImages(cache)) {
  await copyFile(archive, join(images, `${reference.replaceAll(/[/:]/g, '-')}.tar`));
}

async function place(from, to) {
  await copyFile(from, to);
  await chmod(to, 0o755);
}
