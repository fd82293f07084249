import { beforeEach, describe, expect, test } from '@jest/globals';
import { KubusError } from '@kubus/ports';
import { ScriptedNode, podOf } from './scripted-node.ts';

let node: ScriptedNode;

beforeEach(async () => {
  node = new ScriptedNode();
  await node.start();
});

/** The commands since the last call. */
function done(): string[] {
  return node.bridge.done.splice(0);
}

/** A pod with a container for each of these images. */
function withContainers(uid: string, ...images: string[]) {
  const containers = images.map((image, index) => ({ name: `c${index}`, image, imagePullPolicy: 'IfNotPresent' }));
  return podOf(uid, { containers });
}

describe('an image', () => {
  const missing = (imagePullPolicy: string) => podOf('a', {}, { image: 'other:1', imagePullPolicy });
  const name = 'other:1';
  const waiting = () => node.status('a')?.containerStatuses?.[0]?.state?.waiting;

  test('that exists is used', async () => {
    await node.work(podOf('a'));
    expect(node.events('a')).toEqual([
      'Pulled: Container image "busybox" already present on machine and can be accessed by the pod',
      'Created: Container created',
      'Started: Container started',
    ]);
  });

  test.each(['IfNotPresent', 'Always'])('that is missing is pulled with policy %s', async (policy) => {
    await node.work(missing(policy));
    expect(done()).toContain(`pullImage ${name}`);
    expect(node.events('a').slice(0, 2)).toEqual([
      'Pulling: Pulling image "other:1"',
      'Pulled: Successfully pulled image "other:1" in 0s (0s including waiting). Image size: 7 bytes.',
    ]);
    expect(node.bridge.pod('a')?.containers[0]?.image).toBe(`id of ${name}`);
  });

  test('is looked up with those of the other containers, while the sandbox is made', async () => {
    const sandbox = Promise.withResolvers<undefined>();
    node.bridge.before = async (what) => {
      if (what.startsWith('RunPodSandbox')) await sandbox.promise;
    };
    node.bridge.images.add(name);
    await node.work(withContainers('a', 'busybox', name, 'busybox'));
    expect(node.bridge.searches).toEqual([['busybox:latest', name]]);
    expect(done()).toEqual([]);
    sandbox.resolve(undefined);
    await node.pass(0);
    expect(node.bridge.searches).toHaveLength(1);
    expect(done()).toEqual(
      expect.arrayContaining(['CreateContainer c0/0', 'CreateContainer c1/0', 'CreateContainer c2/0']),
    );
    expect(node.status('a')?.phase).toBe('Running');
  });

  test('that could not be looked up with the others is looked up alone, and so is each one after a pull', async () => {
    node.bridge.images.add(name);
    node.bridge.unreadable.add(name);
    await node.work(withContainers('a', name, 'late:1', 'late:1'));
    await node.work(withContainers('b', 'busybox', name));
    expect(node.bridge.searches).toEqual([
      [name, 'late:1'],
      // Another container has pulled it in the meantime.
      ['late:1'],
      ['busybox:latest', name],
      [name],
    ]);
    expect(done().filter((one) => one.startsWith('pullImage'))).toEqual(['pullImage late:1']);
    expect([node.status('a')?.phase, node.status('b')?.phase]).toEqual(['Running', 'Running']);
  });

  test('that is missing prevents the start with policy Never', async () => {
    await node.work(missing('Never'));
    expect(waiting()).toEqual({
      reason: 'ErrImageNeverPull',
      message: 'Container image "other:1" is not present with pull policy of Never',
    });
    expect(node.events('a')).toEqual([
      'ErrImageNeverPull: Container image "other:1" is not present with pull policy of Never',
      'Failed: Error: ErrImageNeverPull',
    ]);
    expect(done()).toEqual(['RunPodSandbox pod-a/0']);
  });

  test('with an invalid name prevents the start', async () => {
    await node.work(podOf('a', {}, { image: 'Bad Name' }));
    expect(waiting()?.reason).toBe('InvalidImageName');
    expect(node.events('a')).toEqual([expect.stringMatching(/^InspectFailed: /), 'Failed: Error: InvalidImageName']);
  });

  test('that other pods may use is pulled, and counts as missing with policy Never', async () => {
    node.bridge.images.add(name);
    node.bridge.guarded.add(name);
    await node.work(missing('Never'));
    expect(waiting()?.reason).toBe('ErrImageNeverPull');
    await node.work(podOf('b', {}, { image: name, imagePullPolicy: 'IfNotPresent' }));
    expect(done()).toContain(`pullImage ${name}`);
    expect(node.status('b')?.phase).toBe('Running');
  });

  test('that cannot be inspected prevents the start', async () => {
    node.bridge.before = (what) =>
      what.startsWith('findImage') ? Promise.reject(new KubusError('Unknown', 'disk error')) : Promise.resolve();
    await node.work(missing('IfNotPresent'));
    expect(waiting()).toEqual({
      reason: 'ImageInspectError',
      message: 'Failed to inspect image "other:1": disk error',
    });
    expect(node.events('a')).toEqual([
      'InspectFailed: Failed to inspect image "other:1": disk error',
      'Failed: Error: ImageInspectError',
    ]);
  });

  test('of an unavailable registry has that as the reason', async () => {
    node.bridge.before = (what) =>
      what.startsWith('pullImage')
        ? Promise.reject(new KubusError('pull-failed', 'RegistryUnavailable: try later'))
        : Promise.resolve();
    await node.work(missing('Always'));
    expect(waiting()).toEqual({
      reason: 'RegistryUnavailable',
      message: 'image pull failed for other:1 because the registry is unavailable: try later',
    });
  });

  test('that cannot be pulled is retried with growing back-off', async () => {
    let pulls = 0;
    node.bridge.before = (what) => {
      if (!what.startsWith('pullImage')) return Promise.resolve();
      pulls += 1;
      return Promise.reject(new KubusError('pull-failed', 'no such manifest'));
    };
    await node.work(missing('IfNotPresent'));
    expect(waiting()).toEqual({ reason: 'ErrImagePull', message: 'no such manifest' });
    expect(node.events('a')).toEqual([
      'Pulling: Pulling image "other:1"',
      'Failed: Failed to pull image "other:1": no such manifest',
      'Failed: Error: ErrImagePull',
    ]);
    // Nothing happens to the pod meanwhile.
    await node.pass(1_000);
    expect(waiting()).toEqual({
      reason: 'ImagePullBackOff',
      message: 'Back-off pulling image "other:1": ErrImagePull: no such manifest',
    });
    expect(node.events('a').slice(3)).toEqual([
      'BackOff: Back-off pulling image "other:1"',
      'Failed: Error: ImagePullBackOff',
    ]);
    expect(pulls).toBe(1);
    await node.pass(8_999);
    expect(pulls).toBe(1);
    await node.pass(1);
    expect(pulls).toBe(2);
    await node.pass(19_999);
    expect(pulls).toBe(2);
    node.bridge.before = () => Promise.resolve();
    await node.pass(1);
    expect(node.status('a')?.phase).toBe('Running');
  });
});

describe('images as volumes', () => {
  const volume = (reference: string, pullPolicy = 'IfNotPresent') => ({
    name: 'img',
    image: { reference, pullPolicy },
  });
  const volumeMounts = [{ name: 'img', mountPath: '/img', subPath: 'bin' }];
  const withImage = (image: object) =>
    podOf('a', { volumes: [image], containers: [{ name: 'other', image: 'busybox' }, main] });
  const main = { name: 'main', image: 'busybox', volumeMounts };
  const mount = () => node.bridge.configs.get('main')?.mounts?.[0];

  test('are pulled for the pod before its containers, and mounted by the runtime', async () => {
    await node.work(withImage(volume('other:1')));
    expect(done().slice(0, 3)).toEqual(['RunPodSandbox pod-a/0', 'pullImage other:1', 'CreateContainer other/0']);
    expect(node.eventLines('a').slice(0, 2)).toEqual([
      'Normal Pulling -: Pulling image "other:1"',
      'Normal Pulled -: Successfully pulled image "other:1" in 0s (0s including waiting). Image size: 7 bytes.',
    ]);
    expect(mount()).toMatchObject({
      containerPath: '/img',
      hostPath: '',
      image: { image: 'id of other:1', userSpecifiedImage: 'other:1' },
      imageSubPath: 'bin',
      readonly: true,
    });
  });

  test('that exist are used', async () => {
    await node.work(withImage(volume('busybox')));
    expect(mount()).toMatchObject({ image: { image: 'id of busybox:latest', userSpecifiedImage: 'busybox' } });
    expect(done().filter((what) => what.startsWith('pull'))).toEqual([]);
  });

  test('that are missing prevent only the containers that mount them', async () => {
    await node.work(withImage(volume('other:1', 'Never')));
    expect(done()).toEqual(['RunPodSandbox pod-a/0', 'CreateContainer other/0', 'StartContainer c2']);
    const status = node.status('a')?.containerStatuses?.find(({ name }) => name === 'main');
    const message = 'Container image "other:1" is not present with pull policy of Never';
    expect(status?.state?.waiting).toEqual({ reason: 'ErrImageNeverPull', message });
    const failures = node.eventLines('a').filter((line) => line.startsWith('Warning'));
    expect(failures).toEqual([
      `Warning ErrImageNeverPull -: ${message}`,
      'Warning Failed spec.containers{main}: Error: ErrImageNeverPull',
    ]);
  });

  test('that could not be pulled are retried after a while', async () => {
    node.bridge.before = (what) =>
      what === 'pullImage other:1' ? Promise.reject(new KubusError('pull-failed', 'no route')) : Promise.resolve();
    await node.work(withImage(volume('other:1')));
    const waiting = () => node.status('a')?.containerStatuses?.find(({ name }) => name === 'main')?.state?.waiting;
    expect(waiting()).toEqual({ reason: 'ErrImagePull', message: 'no route' });
    node.bridge.before = () => Promise.resolve();
    await node.pass(15_000);
    expect(mount()).toMatchObject({ image: { image: 'id of other:1' } });
  });
});
