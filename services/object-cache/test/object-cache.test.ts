import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ObjectReference } from '@kubus/contracts';
import type { AccessAttributes } from '@kubus/kube-fixture';
import { TestNode, podOf, usingAll } from './test-node.ts';

const VALUE = 's3cret-4711';
const ENCODED = Buffer.from(VALUE).toString('base64');
const secret: ObjectReference = { kind: 'Secret', namespace: 'default', name: 'sec' };
const watchOfSecret = 'secrets/default/metadata.name=sec';
const configMap: ObjectReference = { kind: 'ConfigMap', namespace: 'default', name: 'cm' };

let node: TestNode;
let denied: ((attributes: AccessAttributes) => boolean) | undefined;

beforeEach(async () => {
  denied = undefined;
  node = await TestNode.start({
    authorize: (attributes) => (denied?.(attributes) === true ? 'no relationship found' : undefined),
  });
});

afterEach(async () => {
  // No value ever appears in a log line or in an error message.
  expect(node.logged.filter((line) => line.includes(VALUE) || line.includes(ENCODED))).toEqual([]);
  await node.stop();
});

function put(object: ObjectReference = secret, change: object = {}): void {
  const data = object.kind === 'Secret' ? { token: ENCODED } : { token: VALUE };
  node.api.create({
    apiVersion: 'v1',
    kind: object.kind,
    metadata: { name: object.name, namespace: object.namespace },
    data,
    ...change,
  });
}

/** The published version of the object, once it is as wanted. */
const version = (reference: ObjectReference, isWanted: (version: string) => boolean = () => true) =>
  node.until(() => {
    const fact = node.object(reference);
    return fact?.state === 'present' && isWanted(fact.version) && fact.version;
  });
const until = (reference: ObjectReference, state: string) => node.until(() => node.object(reference)?.state === state);
const read = async (reference: ObjectReference, at: string) =>
  (await node.client.read({ ...reference, version: at })).values.get('token')?.toString();

describe('an object', () => {
  test('is watched once for all pods, published without its values, and served with them', async () => {
    put();
    put(configMap, { binaryData: { b: 'AA==' } });
    await node.run();
    for (let i = 0; i < 20; i++) node.work(podOf(`p${i}`, usingAll(secret, configMap)));
    const at = await version(secret);
    expect(node.object(secret)).toEqual({
      ...secret,
      state: 'present',
      uid: expect.any(String),
      version: at,
      keys: ['token'],
    });
    expect(await read(secret, at)).toBe(VALUE);
    const ofMap = await version(configMap);
    expect(node.object(configMap)).toMatchObject({ keys: ['token'], binaryKeys: ['b'] });
    const { values, binaryValues } = await node.client.read({ ...configMap, version: ofMap });
    expect([values.get('token')?.toString(), binaryValues.get('b')]).toEqual([VALUE, Buffer.from([0])]);
    await node.watches('configmaps/default/metadata.name=cm', watchOfSecret);
    expect(node.requests('list', 'secrets')).toHaveLength(1);
  });

  test('of a volume is followed like one of a variable', async () => {
    await node.run();
    const volumes = [
      { name: 'a', secret: { secretName: 'sec' } },
      { name: 'b', projected: { sources: [{ configMap: { name: 'cm' } }, { secret: { name: 'other' } }] } },
    ];
    node.work(podOf('p', { volumes }));
    await node.until(() => node.objects.length === 3);
    expect(node.objects).toEqual([
      'ConfigMap/default/cm missing',
      'Secret/default/other missing',
      'Secret/default/sec missing',
    ]);
  });

  test('is published when it changes, is deleted and created again, and served only at its current version', async () => {
    await node.run();
    node.work(podOf('p', usingAll(secret)));
    await until(secret, 'missing');
    put();
    const first = await version(secret);
    node.api.patch(secret, { data: { token: Buffer.from('other').toString('base64') } });
    const second = await version(secret, (now) => now !== first);
    expect(await read(secret, second)).toBe('other');
    await expect(read(secret, first)).rejects.toMatchObject({ code: 'ObjectChanged' });
    node.api.delete(secret);
    await until(secret, 'missing');
    await expect(read(secret, second)).rejects.toMatchObject({ code: 'ObjectChanged' });
    put();
    expect(await read(secret, await version(secret))).toBe(VALUE);
  });

  test('that is immutable is not watched', async () => {
    put(secret, { immutable: true });
    await node.run();
    node.work(podOf('p', usingAll(secret)));
    expect(await read(secret, await version(secret))).toBe(VALUE);
    // A watch of it would have started before that of the other one.
    node.work(podOf('q', usingAll(configMap)));
    await node.api.waitForRequest(({ verb, plural }) => verb === 'watch' && plural === 'configmaps');
    expect(node.requests('watch', 'secrets')).toEqual([]);
  });

  test('is kept for a while after the last pod that refers to it, then forgotten with its values', async () => {
    put();
    const cache = await node.run();
    for (const name of ['p', 'q']) node.work(podOf(name, usingAll(secret)));
    const at = await version(secret);
    node.forget('p');
    node.work(podOf('q', usingAll(configMap)));
    await until(configMap, 'missing');
    await node.clock.advance(29_000);
    expect(await read(secret, at)).toBe(VALUE);
    node.work(podOf('r', usingAll(secret, { kind: 'ConfigMap', name: 'next' })));
    await until({ ...configMap, name: 'next' }, 'missing');
    await node.clock.advance(2_000);
    expect(node.object(secret)).toBeDefined();
    expect(node.requests('list', 'secrets')).toHaveLength(1);

    for (const name of ['q', 'r']) node.forget(name);
    node.work(podOf('s', usingAll({ kind: 'ConfigMap', name: 'last' })));
    await until({ ...configMap, name: 'last' }, 'missing');
    await node.clock.advance(30_000);
    await node.until(() => node.objects.length === 1);
    await expect(read(secret, at)).rejects.toMatchObject({ code: 'ObjectsUnavailable' });
    expect(cache.count.objects).toBe(1);
    await node.watches('configmaps/default/metadata.name=last');
  });

  test('that is refused is published with the API server’s message; one that was read before stays', async () => {
    put();
    denied = ({ resource }) => resource === 'secrets';
    await node.run();
    node.work(podOf('p', usingAll(secret)));
    await until(secret, 'refused');
    expect(node.object(secret)).toMatchObject({
      message: expect.stringMatching(
        /^secrets .*forbidden: User "system:node:n" cannot list .*: no relationship found$/,
      ),
    });
    denied = undefined;
    const at = await version(secret);
    denied = ({ resource }) => resource === 'secrets';
    const refusals = node.requests('watch', 'secrets').length;
    for (const watch of node.api.watches) watch.cut();
    await node.api.waitForRequest(() => node.requests('watch', 'secrets').length > refusals);
    await node.api.waitForRequest(() => node.requests('watch', 'secrets').at(-1)?.status === 403);
    expect(await read(secret, at)).toBe(VALUE);
    expect(node.object(secret)?.state).toBe('present');
  });

  test('is followed across compacted versions and stalled watches', async () => {
    put();
    await node.run();
    node.work(podOf('p', usingAll(secret)));
    const first = await version(secret);
    await node.watches(watchOfSecret);
    await node.api.pause();
    node.api.patch(secret, { data: { token: Buffer.from('second').toString('base64') } });
    node.api.compact();
    await node.api.resume();
    const second = await version(secret, (now) => now !== first);
    expect(await read(secret, second)).toBe('second');

    await node.watches(watchOfSecret);
    for (const watch of node.api.watches) watch.stall();
    node.api.patch(secret, { data: { token: Buffer.from('third').toString('base64') } });
    await node.clock.advance(90_000);
    expect(await read(secret, await version(secret, (now) => now !== second))).toBe('third');
  });
});

describe('pods', () => {
  test('of files and rejected pods need no objects', async () => {
    await node.run();
    node.work(podOf('static', usingAll(secret)), { source: 'file' });
    node.work(podOf('rejected', usingAll(secret)), { work: 'reject' });
    node.work(podOf('other', usingAll(configMap)));
    await until(configMap, 'missing');
    expect(node.objects).toEqual(['ConfigMap/default/cm missing']);
    expect(node.requests('list', 'secrets')).toEqual([]);
  });
});

describe('without the API server', () => {
  test('known objects stay, and later changes are published once it returns', async () => {
    put();
    await node.run();
    node.work(podOf('p', usingAll(secret)));
    const at = await version(secret);
    await node.watches(watchOfSecret);
    await node.api.pause();
    node.work(podOf('q', usingAll(secret)));
    expect(await read(secret, at)).toBe(VALUE);
    node.api.patch(secret, { data: { token: Buffer.from('later').toString('base64') } });
    await node.api.resume();
    expect(await read(secret, await version(secret, (now) => now !== at))).toBe('later');
  });

  test('a restarted object-cache publishes nothing until it returns; then unneeded objects are removed', async () => {
    put();
    await node.run();
    node.work(podOf('p', usingAll(secret)));
    node.work(podOf('q', usingAll(configMap)));
    const at = await version(secret);
    await until(configMap, 'missing');
    await node.until(() => node.complete.objects);
    await node.halt();
    node.forget('q');
    await node.api.pause();
    await node.run();
    await expect(read(secret, at)).rejects.toMatchObject({ code: 'ObjectsUnavailable' });
    expect(node.complete).toEqual({ objects: false, services: false, classes: false, bundles: false });
    expect(node.objects).toHaveLength(2);
    await node.api.resume();
    await node.until(() => node.complete.objects && node.complete.services && node.complete.classes);
    expect(node.objects).toEqual(['Secret/default/sec present']);
    expect(await read(secret, at)).toBe(VALUE);
  });
});

describe('services', () => {
  const service = (name: string, namespace: string, spec: object) =>
    node.api.create({ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec: { ...spec } });
  const ports = [{ name: 'http', port: 80, protocol: 'TCP' }];

  test('are published for the namespaces of pods and for default, without headless ones', async () => {
    for (const name of ['team', 'elsewhere', 'empty']) {
      node.api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    }
    service('kubernetes', 'default', { clusterIP: '10.0.0.1', ports });
    service('web', 'team', { clusterIP: '10.0.0.2', ports });
    service('headless', 'team', { clusterIP: 'None', ports });
    service('far', 'elsewhere', { clusterIP: '10.0.0.3', ports });
    await node.run();
    node.work(podOf('alone', { enableServiceLinks: false }, 'elsewhere'));
    node.work(podOf('linked', {}, 'team'), { source: 'file' });
    await node.until(() => node.services['team']);
    expect(node.services).toEqual({ default: ['kubernetes'], team: ['web'] });
    await node.until(() => node.complete.services);

    service('more', 'team', { clusterIP: '10.0.0.4', ports });
    service('most', 'team', { clusterIP: '10.0.0.5', ports });
    await node.until(() => node.services['team']?.length === 3);
    node.api.delete({ kind: 'Service', namespace: 'team', name: 'web' });
    await node.until(() => node.services['team']?.length === 2);
    node.work(podOf('new', {}, 'empty'));
    await node.until(() => node.services['empty']?.length === 0);
    node.forget('linked');
    await node.until(() => node.services['team'] === undefined);
    expect(node.requests('list', 'services')).toHaveLength(1);
  });
});

describe('runtime classes', () => {
  test('are all published', async () => {
    const metadata = { name: 'vm' };
    node.api.create({ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata, handler: 'kata' });
    await node.run();
    await node.until(() => node.complete.classes);
    expect(node.classes).toEqual([{ name: 'vm', handler: 'kata' }]);
    node.api.delete({ kind: 'RuntimeClass', name: 'vm' });
    await node.until(() => node.classes.length === 0);
  });
});

describe('trust bundles', () => {
  const apiVersion = 'certificates.k8s.io/v1beta1';
  const bundle = (name: string, spec: object, labels: Record<string, string> = {}) =>
    node.api.create({
      apiVersion,
      kind: 'ClusterTrustBundle',
      metadata: { name, labels },
      spec: { ...spec },
    });
  const projecting = {
    volumes: [{ name: 'v', projected: { sources: [{ clusterTrustBundle: { name: 'root', path: 'ca' } }] } }],
  };

  test('are read when the first pod needs them, and published as they change', async () => {
    bundle('root', { trustBundle: 'PEM 1' });
    bundle('e.org:x:1', { signerName: 'e.org/x', trustBundle: 'PEM 2' }, { live: 'yes' });
    await node.run();
    node.work(podOf('static', projecting), { source: 'file' });
    node.work(podOf('plain'));
    await node.untilReceived();
    expect(node.requests('list', 'clustertrustbundles')).toEqual([]);
    node.work(podOf('p', projecting));
    await node.until(() => node.complete.bundles);
    const root = { name: 'root', labels: {}, trustBundle: 'PEM 1' };
    expect(node.bundles.sort((a, b) => b.name.localeCompare(a.name))).toEqual([
      root,
      { name: 'e.org:x:1', signerName: 'e.org/x', labels: { live: 'yes' }, trustBundle: 'PEM 2' },
    ]);
    node.api.patch({ kind: 'ClusterTrustBundle', name: 'root' }, { spec: { trustBundle: 'PEM 3' } });
    await node.until(() => node.bundles.some(({ trustBundle }) => trustBundle === 'PEM 3'));
    node.api.delete({ kind: 'ClusterTrustBundle', name: 'e.org:x:1' });
    await node.until(() => node.bundles.length === 1);
    node.work(podOf('q', projecting));
    await node.untilReceived();
    expect(node.requests('list', 'clustertrustbundles')).toHaveLength(1);
  });

  test('are an empty set when the API server does not know the resource', async () => {
    const isList = ({ plural }: { plural: string }) => plural === 'clustertrustbundles';
    node.api.inject({ when: isList, fault: { kind: 'answer', code: 404 } });
    await node.run();
    node.work(podOf('p', projecting));
    await node.until(() => node.complete.bundles);
    expect(node.bundles).toEqual([]);
  });
});

test('the socket is for the node’s own user only, and replaces one that was left over', async () => {
  await node.run();
  const modeOf = async (path: string) => (await stat(path)).mode & 0o777;
  expect([await modeOf(node.socket), await modeOf(dirname(node.socket))]).toEqual([0o600, 0o700]);
  await node.halt();
  await node.run();
  await expect(read(secret, '1')).rejects.toMatchObject({ message: expect.stringContaining('answers 503') });
});
