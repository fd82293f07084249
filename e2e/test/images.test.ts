import { expect } from '@jest/globals';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestNode, TestRegistry, type WatchedPod, isReady, registryLogin } from '@kubus/harness';
import { buildBusybox, busyboxReference } from '@kubus/node-images';
import { rawMessages } from '../src/bus-texts.ts';
import { sharedNode } from '../src/node-tests.ts';
import { containerStatus, eventMessages, eventReasons, waitingReason, waitingReasons } from '../src/pod-facts.ts';
import { container, pod } from '../src/pods.ts';

type ImagesConfig = Awaited<ReturnType<TestNode['config']>>['images'];

const onNode = sharedNode('images');

interface Registries {
  readonly open: TestRegistry;
  /** Requires a login. */
  readonly guarded: TestRegistry;
}

let started: Promise<Registries> | undefined;

/** The registries of this file, started with its first test. They end with the node. */
function registries(node: TestNode): Promise<Registries> {
  const start = async () => {
    const open = await TestRegistry.start(node, { port: 5000, login: false });
    const guarded = await TestRegistry.start(node, { port: 5001, login: true });
    return { open, guarded };
  };
  return (started ??= start());
}

/** Pushes a unique image; returns its name for a pod. */
async function push(node: TestNode, registry: TestRegistry, repository: string, tag: string): Promise<string> {
  const reference = `${registry.host}/${repository}:${tag}`;
  // The label makes the image different from the others.
  const image = await buildBusybox({ reference, labels: { reference } }, node.folder);
  return registry.push(image, repository, tag);
}

/** A pod of one container of that image. */
function podOf(name: string, image: string, imagePullPolicy?: string): object {
  return pod(name, { containers: [container({ name: 'main', image, ...(imagePullPolicy && { imagePullPolicy }) })] });
}

function message(one: WatchedPod): string {
  return containerStatus(one)?.state?.waiting?.message ?? '';
}

/** Changes the image settings of the node's configuration, and restarts cri-bridge. */
async function reconfigure(node: TestNode, change: Partial<ImagesConfig>): Promise<void> {
  await node.reconfigure((config) => ({ ...config, images: { ...config.images, ...change } }));
  await node.restart('cri-bridge-0');
}

async function imageIds(node: TestNode): Promise<string[]> {
  return ((await node.cri('ListImages', {})).images ?? []).flatMap(({ repoTags = [] }) => repoTags);
}

onNode('an image of a registry is pulled when the policy asks for it, and used when it is present', async (node) => {
  const { open } = await registries(node);
  const name = await push(node, open, 'team/app', 'latest');
  await node.writeManifest('first.json', podOf('first', `${open.host}/team/app`, 'IfNotPresent'));
  const first = await node.watch.waitForPod('first');
  expect(containerStatus(first)?.imageID).toContain('sha256:');
  const asked = `${open.host}/team/app`;
  expect(eventMessages(node, first, 'Pulling')).toEqual([`Pulling image "${asked}"`]);
  const size = `Image size: \\d+ bytes\\.`;
  const pulled = new RegExp(`^Successfully pulled image "${asked}" in \\S+ \\(\\S+ including waiting\\)\\. ${size}$`);
  expect(eventMessages(node, first, 'Pulled').join()).toMatch(pulled);

  await node.writeManifest('second.json', podOf('second', name, 'IfNotPresent'));
  await node.writeManifest('third.json', podOf('third', name, 'Always'));
  await node.writeManifest('never.json', podOf('never', `${open.host}/team/absent:1`, 'Never'));
  await node.writeManifest('invalid.json', podOf('invalid', 'Not A Valid//Name'));
  expect(eventMessages(node, await node.watch.waitForPod('second'), 'Pulled')).toEqual([
    `Container image "${name}" already present on machine and can be accessed by the pod`,
  ]);
  const third = await node.watch.waitForPod('third');
  expect(eventReasons(node, third).slice(0, 2)).toEqual(['Normal Pulling', 'Normal Pulled']);

  const never = await node.watch.waitForPod('never', (one) => waitingReason(one) === 'ErrImageNeverPull');
  const absent = `Container image "${open.host}/team/absent:1" is not present with pull policy of Never`;
  expect(message(never)).toBe(absent);
  expect(eventMessages(node, never, 'Failed')).toContain('Error: ErrImageNeverPull');
  const invalid = await node.watch.waitForPod('invalid', (one) => waitingReason(one) === 'InvalidImageName');
  expect(message(invalid)).toMatch(/: invalid reference format: repository name \(\/Name\) must be lowercase$/);
  expect(node.watch.imagePulls).toEqual([]);
});

onNode('a pull that fails backs off with what went wrong, and succeeds once it can', async (node) => {
  const { open, guarded } = await registries(node);
  const later = `${open.host}/team/later:1`;
  const secret = await push(node, guarded, 'private/app', '1');
  await node.writeManifest('later.json', podOf('later', later));
  await node.writeManifest('secret.json', podOf('secret', secret));

  const backedOff = (name: string) =>
    node.watch.waitForPod(name, (one) => waitingReason(one) === 'ImagePullBackOff', 'backing off');
  const absent = await backedOff('later');
  const notFound = new RegExp(
    `^Back-off pulling image "${later}": ErrImagePull: rpc error: code = NotFound desc = .*not found`,
  );
  expect(message(absent)).toMatch(notFound);
  expect(waitingReasons(node, absent)).toEqual(['ContainerCreating', 'ErrImagePull', 'ImagePullBackOff']);
  expect(eventReasons(node, absent)).toEqual(
    expect.arrayContaining(['Normal Pulling', 'Warning Failed', 'Normal BackOff']),
  );
  expect(message(await backedOff('secret'))).toMatch(/ErrImagePull: .*(no basic auth credentials|401 Unauthorized)/);

  await push(node, open, 'team/later', '1');
  const { username, password } = registryLogin;
  const auth = Buffer.from(`${username}:${password}`).toString('base64');
  const { root } = (await node.config()).pods;
  await mkdir(root, { recursive: true });
  await writeFile(join(root, 'config.json'), JSON.stringify({ auths: { [guarded.host]: { auth } } }), { mode: 0o600 });
  await Promise.all([node.watch.waitForPod('later'), node.watch.waitForPod('secret')]);
  await rm(join(root, 'config.json'));
});

onNode('a pull that fails because the node has no way out says so before the error of the runtime', async (node) => {
  await node.writeManifest('outside.json', podOf('outside', 'registry.example/team/app:1'));
  const outside = await node.watch.waitForPod('outside', (one) => waitingReason(one) === 'ErrImagePull');
  const way =
    'the node has no way out of its network (--network none): "kubus image load" brings the image, "kubus up --restart --network nat" gives it one: ';
  expect(message(outside)).toContain(`${way}failed to pull and unpack image "registry.example/team/app:1"`);
  const { code, stderr } = await node.kubus('image', 'pull', 'registry.example/team/app:1');
  expect([code, stderr]).toEqual([1, expect.stringContaining(`kubus: ${way}`)]);
  expect((await node.kubus('status')).stdout).toContain('\nway out  none: only this node is reached; ');
});

onNode('a credential provider gives the login, which is published nowhere', async (node) => {
  const { guarded } = await registries(node);
  const name = await push(node, guarded, 'private/plugged', '1');
  const folder = join(node.folder, 'providers');
  await mkdir(folder);
  const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
  const answer = {
    ...{ kind: 'CredentialProviderResponse', apiVersion, cacheKeyType: 'Registry', cacheDuration: '1h' },
    auth: { [`${guarded.host}/private`]: registryLogin },
  };
  await writeFile(join(folder, 'answer.json'), JSON.stringify(answer));
  await writeFile(join(folder, 'login'), `#!/bin/sh\ncat >> "$ASKED"\ncat ${folder}/answer.json\n`, { mode: 0o755 });
  const config = {
    ...{ apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig' },
    providers: [
      {
        ...{ name: 'login', matchImages: ['127.0.*.1:5001/private'], defaultCacheDuration: '0s', apiVersion },
        env: [{ name: 'ASKED', value: join(folder, 'asked') }],
      },
    ],
  };
  await writeFile(join(folder, 'config.yaml'), JSON.stringify(config));
  await reconfigure(node, { providers: { config: join(folder, 'config.yaml'), binDir: folder } });
  await node.writeManifest('one.json', podOf('one', name, 'Always'));
  await node.watch.waitForPod('one');
  await node.writeManifest('two.json', podOf('two', name, 'Always'));
  await node.watch.waitForPod('two');
  // Called once: the response is valid for the registry for an hour.
  expect(JSON.parse(await readFile(join(folder, 'asked'), 'utf8'))).toEqual({
    ...{ kind: 'CredentialProviderRequest', apiVersion, image: `${guarded.host}/private/plugged` },
  });
  expect(rawMessages(node).filter((text) => text.includes(registryLogin.password))).toEqual([]);
});

onNode('pulls wait for each other, as many at once as allowed, and the bus shows where each stands', async (node) => {
  const { open } = await registries(node);
  // One after the other: the registry mixes up uploads of the same layer.
  const a = await push(node, open, 'team/slow', 'a');
  const b = await push(node, open, 'team/slow', 'b');
  const c = await push(node, open, 'team/slow', 'c');
  const standing = () =>
    node.watch.imagePulls.map(({ image, state, ahead, pods }) => [image, state, ahead, pods.length]);
  /** Starts a pod for each image while the registry does not answer, until the pulls stand as expected. */
  const pulls = async (limits: Partial<ImagesConfig>, images: readonly string[], expected: readonly unknown[][]) => {
    await reconfigure(node, limits);
    open.pause();
    try {
      for (const [index, image] of images.entries()) {
        await node.writeManifest(`${index}.json`, podOf(`slow-${index}`, image, 'Always'));
        await node.watch.until(`a pull of ${image}`, () => node.watch.imagePulls.find((one) => one.image === image));
      }
      const wanted = JSON.stringify(expected);
      await node.watch.until(`pulls ${wanted}`, () => (JSON.stringify(standing()) === wanted ? true : undefined));
    } finally {
      open.resume();
    }
    for (const index of images.keys()) await node.watch.waitForPod(`slow-${index}`);
    expect(node.watch.imagePulls).toEqual([]);
    await node.clearManifests();
    await node.watch.until('no pods', () => (node.watch.pods.length === 0 ? true : undefined));
  };
  await pulls(
    { serialize: true },
    [a, b, a],
    [
      [a, 'pulling', null, 2],
      [b, 'queued', 0, 1],
    ],
  );
  await pulls(
    { serialize: false, maxParallel: 2 },
    [a, b, c],
    [
      [a, 'pulling', null, 1],
      [b, 'pulling', null, 1],
      [c, 'queued', 0, 1],
    ],
  );
});

onNode('unused images are removed when the disk is too full, and the others stay', async (node) => {
  const { open } = await registries(node);
  const used = await push(node, open, 'team/used', '1');
  await node.writeManifest('used.json', podOf('used', used));
  await node.watch.waitForPod('used');
  expect(await imageIds(node)).toContain(`${open.host}/team/app:latest`);
  const { gc } = (await node.config()).images;
  await reconfigure(node, { gc: { ...gc, highPercent: 1, lowPercent: 0, minAgeMs: 0 } });
  const recorded = await node.watch.until('an event', () =>
    node.watch.messages.nodeEvents().find(({ reason }) => reason === 'FreeDiskSpaceFailed'),
  );
  expect(recorded).toMatchObject({ node: node.dir.node, type: 'Warning', count: 1 });
  expect(recorded.message).toMatch(
    /^Insufficient free disk space on the node's image filesystem \(\d+% of .* used\)\./,
  );
  const listed = await node.kubus('events', '--for', `node/${node.dir.node}`);
  expect(listed.stdout).toMatch(
    new RegExp(`^\\w+ +Warning +FreeDiskSpaceFailed +Node/${node.dir.node} +Insufficient free disk space`, 'm'),
  );
  const left = await imageIds(node);
  expect(left).toContain(used);
  expect(left).toContain(busyboxReference);
  expect(isReady(await node.watch.waitForPod('used'))).toBe(true);
});
