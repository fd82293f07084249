// What the images and the unit are made of, and with which rights they run: the files that users build and install.
import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import * as z from 'zod';
import { KUBUS_USER, containerServices, userOf } from '../../src/containers/container-services.ts';

const checkout = resolve(import.meta.dirname, '../../../../..');
const read = (file: string) => readFile(join(checkout, file), 'utf8');

const byDigest = expect.stringMatching(/^[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$/);

const composeSchema = z.object({
  services: z.record(z.string(), z.object({ image: z.string(), user: z.string().optional() })),
});
const composed = async (file: string) => composeSchema.parse(parse(await read(file), { merge: true })).services;

/** The image that is used when no variable of the environment names another one. */
const preset = (image: string) => /^\$\{\w+:-(.+)\}$/.exec(image)?.[1] ?? image;

test('every image that comes from a registry is named by digest', async () => {
  const bases = [...(await read('Dockerfile')).matchAll(/^ARG (\w+_IMAGE)=(.*)$/gm)].map(([, , image]) => image);
  expect(bases).toEqual([byDigest, byDigest]);
  const froms = [...(await read('Dockerfile')).matchAll(/^FROM (\S+)/gm)].map(([, from = '']) => from);
  const stages = ['scratch', '${BUILD_IMAGE}', '${BASE_IMAGE}', 'runtime-base', 'containerd-base'];
  expect(froms.filter((from) => !stages.includes(from))).toEqual([]);

  const services = {
    ...(await composed('docker-compose.yml')),
    ...(await composed('examples/nats/docker-compose.yml')),
  };
  const images = new Set(Object.values(services).map(({ image }) => preset(image)));
  const foreign = [...images].filter((image) => !['kubus', 'kubus-containerd'].includes(image));
  expect(foreign).toEqual([byDigest]);
  const { nats } = z
    .object({ nats: z.object({ image: z.object({ repository: z.string(), tag: z.string() }) }) })
    .parse(parse(await read('charts/kubus/values.yaml')));
  // The same one everywhere. A user who sets another tag gets that one.
  expect(foreign).toEqual([`${nats.image.repository}:${nats.image.tag}`]);
});

test('the image is built with the Node.js and the pnpm of the kubus script, and pnpm is checked by the same digest', async () => {
  const script = await read('kubus');
  const valueOf = (name: string) => new RegExp(`^readonly ${name}=(.*)$`, 'm').exec(script)?.[1] ?? name;
  const { packageManager } = z.object({ packageManager: z.string() }).parse(JSON.parse(await read('package.json')));
  expect(packageManager).toBe(`pnpm@${valueOf('pnpm_version')}+sha512.${valueOf('pnpm_sha512')}`);
  expect(await read('Dockerfile')).toContain(`ARG BUILD_IMAGE=node:${valueOf('node_version')}-`);
});

test('nothing runs as root unless it is said to', async () => {
  const targets = (await read('Dockerfile')).split(/^FROM /m);
  expect(targets.at(-1)).toContain(`\nUSER ${KUBUS_USER}:${KUBUS_USER}\n`);
  const services = await composed('docker-compose.yml');
  const kubus = `${KUBUS_USER}:${KUBUS_USER}`;
  const users = Object.fromEntries(Object.entries(services).map(([name, { user }]) => [name, user]));
  // The second image is the runtime's.
  const { containerd, images, ...others } = users;
  expect([containerd, images]).toEqual([undefined, undefined]);
  const own = containerServices.filter((name) => name in users);
  expect(others).toEqual({
    ...Object.fromEntries(own.map((name) => [name, userOf(name) === 0 ? '0:0' : kubus])),
    ...{ install: '0:0', uninstall: '0:0', nats: kubus, page: kubus },
  });
});

const UNIT = 'examples/systemd/kubelet.service';

/** Settings that give a unit mounts of its own, systemd.exec(5): volumes that its processes mount do not reach the runtime. */
const ownMounts =
  /^(Protect(System|Home|Proc|KernelLogs|KernelModules|KernelTunables|ControlGroups)|Private(Tmp|Devices|Mounts|IPC)|ProcSubset|MountFlags|(ReadOnly|ReadWrite|Inaccessible|Exec|NoExec|Bind|BindReadOnly)Paths|TemporaryFileSystem|Root(Directory|Image)|DynamicUser)=/;

test('the unit of examples/systemd has no more rights than a node agent needs, and each setting has its reason', async () => {
  const lines = (await read(UNIT)).split('\n');
  expect(lines.filter((line) => ownMounts.test(line))).toEqual([]);
  const settings = lines.slice(lines.indexOf('NoNewPrivileges=yes'), lines.indexOf('[Install]'));
  for (const [at, line] of settings.entries()) {
    if (at === 0 || line === '' || line.startsWith('#')) continue;
    // A comment above, or a setting that belongs to the one above.
    expect([line, settings[at - 1]]).toEqual([line, expect.stringMatching(/^(#|\w+=)/)]);
  }
  // 9.6 without the settings. A limit in tenths; it exits with 1 beyond it.
  const { stdout } = await promisify(execFile)('systemd-analyze', [
    ...['--offline=true', '--threshold=70', '--no-pager', 'security', join(checkout, UNIT)],
  ]);
  expect(stdout).toMatch(/Overall exposure level for kubelet\.service: [1-6]\.\d/);
  for (const filter of ['@clock', '@debug', '@raw-io', '@reboot', '@swap', '@obsolete', '@cpu-emulation']) {
    expect(stdout).toMatch(new RegExp(`✓ SystemCallFilter=~${filter} `));
  }
});
