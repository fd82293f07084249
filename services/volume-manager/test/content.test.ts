// The manager with a real object-cache, a real API server and the machine's real folders and mounts.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ContentNode, rights } from './content-node.ts';
import { podWith } from './scripted-node.ts';
import { everything, makeRoot, removeRoot, untilIn } from './test-root.ts';

const VALUE = 's3cret-0815';
const base64 = (text: string) => Buffer.from(text).toString('base64');

let dir: string;
let content: ContentNode;

beforeEach(async () => {
  dir = makeRoot();
  content = await ContentNode.start(dir);
  put('ServiceAccount', 'robot', {});
});
afterEach(async () => {
  expect(JSON.stringify(content.node.events)).not.toContain(VALUE);
  await content.stop();
  await removeRoot(dir);
});

function put(kind: string, name: string, rest: object): void {
  content.api.create({ apiVersion: 'v1', kind, metadata: { name, namespace: 'default' }, ...rest });
}
const text = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8');
const untilSays = (folder: string, file: string, wanted: string) =>
  untilIn(folder, () => existsSync(join(folder, file)) && text(folder, file) === wanted);
const names = (folder: string) => readdirSync(folder).filter((name) => !name.startsWith('..'));
const current = (folder: string) => readlinkSync(join(folder, '..data'));

const secret = { name: 's', secret: { secretName: 'sec' } };
const configMap = { name: 'c', configMap: { name: 'conf' } };
const downward = {
  name: 'd',
  downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
};
const token = { name: 't', projected: { sources: [{ serviceAccountToken: { path: 'token', audience: 'vault' } }] } };

test('volumes of every kind contain what their pod requests, and nothing is left of them', async () => {
  put('Secret', 'sec', { data: { user: base64('me'), password: base64(VALUE) } });
  put('ConfigMap', 'conf', {
    data: { text: 'hello' },
    binaryData: { blob: Buffer.from([0xff, 0]).toString('base64') },
  });
  content.api.create({
    apiVersion: 'certificates.k8s.io/v1beta1',
    kind: 'ClusterTrustBundle',
    metadata: { name: 'root' },
    spec: { trustBundle: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' },
  });
  content.allocatable({ cpu: '3', memory: '1Gi' });
  const all = {
    name: 'p',
    projected: {
      defaultMode: 0o440,
      sources: [
        { secret: { name: 'sec', items: [{ key: 'password', path: 'deep/pass', mode: 0o400 }] } },
        { configMap: { name: 'conf', items: [{ key: 'text', path: 'deep/text' }] } },
        {
          downwardAPI: {
            items: [{ path: 'cpu', resourceFieldRef: { containerName: 'main', resource: 'limits.cpu' } }],
          },
        },
        { serviceAccountToken: { path: 'token', expirationSeconds: 600 } },
        { clusterTrustBundle: { name: 'root', path: 'ca' } },
      ],
    },
  };
  const uid = content.run('a', [secret, configMap, downward, all], {
    securityContext: { fsGroup: 1234, runAsUser: 1000 },
  });
  await content.node.untilReady(uid);
  const [s, c, d, p] = [
    content.folder(uid, 'secret', 's'),
    content.folder(uid, 'configmap', 'c'),
    content.folder(uid, 'downward-api', 'd'),
    content.folder(uid, 'projected', 'p'),
  ];
  const shown = (hostPath: string) => ({ hostPath, relabel: true, readOnly: true });
  expect(content.node.published(uid)).toMatchObject({
    volumes: { s: shown(s), c: shown(c), d: shown(d), p: shown(p) },
  });

  expect([text(s, 'user'), text(s, 'password')]).toEqual(['me', VALUE]);
  expect([text(c, 'text'), readFileSync(join(c, 'blob'))]).toEqual(['hello', Buffer.from([0xff, 0])]);
  expect(text(d, 'labels')).toBe('');
  expect([text(p, 'deep/pass'), text(p, 'deep/text'), text(p, 'cpu')]).toEqual([VALUE, 'hello', '3']);
  expect(text(p, 'token')).toMatch(/^eyJ/);
  expect(text(p, 'ca')).toContain('AAAA');
  const ofThem = [s, p, join(p, '..data'), join(p, 'deep'), join(s, 'user'), join(p, 'deep/pass'), join(p, 'token')];
  expect(ofThem.map(rights)).toEqual([
    ...['3777 0 1234', '3777 0 1234', '2755 0 1234', '2755 0 1234'],
    ...['644 0 1234', '440 0 1234', '640 1000 1234'],
  ]);
  const mounts = (await everything(content.root)).filter((line) => line.endsWith(' tmpfs'));
  expect(mounts).toHaveLength(3);

  content.node.worker(uid, 'terminated');
  await content.node.untilRemoved(uid);
  expect(await everything(content.root)).toEqual(['750 0 pods']);
});

describe('changing content', () => {
  test('is updated at once, in place, and only when it differs', async () => {
    put('Secret', 'sec', { data: { password: base64('old'), gone: '' } });
    const uid = content.run('a', [secret]);
    await content.node.untilReady(uid);
    const folder = content.folder(uid, 'secret', 's');
    const reported = content.node.published(uid);
    const sec = { kind: 'Secret', namespace: 'default', name: 'sec' };
    content.api.patch(sec, { data: { password: base64(VALUE), gone: null, come: '' } });
    await untilSays(folder, 'password', VALUE);
    await untilIn(folder, () => names(folder).sort().join() === 'come,password');
    expect(content.node.published(uid)).toEqual(reported);

    const before = current(folder);
    content.api.patch(sec, { metadata: { annotations: { other: 'yes' } } });
    content.api.patch(sec, { data: { last: '' } });
    await untilSays(folder, 'last', '');
    await untilIn(folder, () => !existsSync(join(folder, before)));
    expect(readdirSync(folder).filter((name) => /^\.\.\d/.test(name))).toEqual([current(folder)]);
  });

  test('follows the pod’s labels', async () => {
    const uid = content.run('a', [downward]);
    await content.node.untilReady(uid);
    const folder = content.folder(uid, 'downward-api', 'd');
    const pod = podWith('a', [downward]);
    content.want({ ...pod, metadata: { ...pod.metadata, uid, labels: { color: 'blue' } } });
    await untilSays(folder, 'labels', 'color="blue"');
  });

  test('stays when its object is deleted, which is reported to the pod’s user', async () => {
    put('Secret', 'sec', { data: { password: base64(VALUE) } });
    const items = [{ key: 'password', path: 'p' }];
    const uid = content.run('a', [{ name: 's', secret: { secretName: 'sec', items } }]);
    await content.node.untilReady(uid);
    const folder = content.folder(uid, 'secret', 's');
    const problem = () => content.node.published(uid)?.errors?.[0]?.replace(/^.* : /, '');
    const sec = { kind: 'Secret', namespace: 'default', name: 'sec' };
    content.api.patch(sec, { data: { password: null } });
    await content.node.until(() => problem() === 'references non-existent secret key: password');
    content.api.delete(sec);
    await content.node.until(() => problem() === 'secret "sec" not found');
    expect(content.node.events).toContain(
      'FailedMount MountVolume.SetUp failed for volume "s" : secret "sec" not found',
    );
    expect(text(folder, 'p')).toBe(VALUE);
    expect(content.node.published(uid)?.volumes).toHaveProperty('s');
    put('Secret', 'sec', { data: { password: base64('new') } });
    await content.node.until(() => content.node.published(uid)?.errors === undefined);
    expect(text(folder, 'p')).toBe('new');
  });

  test('of a token is renewed before it expires, and stays while there is no other', async () => {
    const uid = content.run('a', [token]);
    await content.node.untilReady(uid);
    const folder = content.folder(uid, 'projected', 't');
    const first = text(folder, 'token');
    const fault = content.api.inject({
      when: ({ verb, plural }) => verb === 'create' && plural === 'serviceaccounts',
      fault: { kind: 'answer', code: 500 },
    });
    // Tokens of the API server live for an hour, to the second, from a moment at which this clock was already stopped.
    const isOfToken = (ms: number) => ms >= 0.8 * 3_600_000 - 1_000 && ms < 3_600_000;
    await content.clock.advance(await content.clock.untilWaits(isOfToken));
    await content.api.waitForRequest(({ plural, status }) => plural === 'serviceaccounts' && status === 500);
    await content.node.kill();
    expect(text(folder, 'token')).toBe(first);
    fault.remove();
    await content.startManager();
    await untilIn(folder, () => text(folder, 'token') !== first);
    expect(content.node.events).toEqual([]);
  });
});

test('a missing object is reported, and the volume is mounted once it exists', async () => {
  const uid = content.run('a', [secret, configMap]);
  await content.node.until(() => content.node.events.length >= 2);
  expect(new Set(content.node.events)).toEqual(
    new Set([
      'FailedMount MountVolume.SetUp failed for volume "s" : secret "sec" not found',
      'FailedMount MountVolume.SetUp failed for volume "c" : configmap "conf" not found',
    ]),
  );
  put('Secret', 'sec', { data: { password: base64(VALUE) } });
  put('ConfigMap', 'conf', {});
  await content.node.untilReady(uid);
  expect(content.node.published(uid)).not.toHaveProperty('errors');
  expect(names(content.folder(uid, 'configmap', 'c'))).toEqual([]);
});

test('a path that leads out of its volume creates no file', async () => {
  put('ConfigMap', 'conf', { data: { key: VALUE } });
  const items = [{ key: 'key', path: '../../../../out' }];
  const uid = content.run('a', [{ name: 'c', configMap: { name: 'conf', items } }]);
  await content.node.until(() => content.node.published(uid)?.errors !== undefined);
  expect(content.node.published(uid)?.errors?.[0]).toContain("must not contain '..'");
  expect((await everything(dir)).filter((line) => line.includes('out'))).toEqual([]);
});

describe('without object-cache', () => {
  test('values are waited for, without an event about a failure', async () => {
    put('Secret', 'sec', { data: { password: base64(VALUE) } });
    const first = content.run('first', [secret]);
    await content.node.untilReady(first);
    await content.stopCache();
    const uid = content.run('a', [secret]);
    await content.node.until(() => content.node.published(uid)?.awaits !== undefined);
    expect(content.node.published(uid)).toMatchObject({ ready: false, volumes: {} });
    expect(content.node.published(uid)).not.toHaveProperty('errors');
    await content.startCache();
    await content.node.untilReady(uid);
    expect(text(content.folder(uid, 'secret', 's'), 'password')).toBe(VALUE);
    expect(content.node.events).toEqual([]);
  });

  test('a restarted manager uses existing volumes, and does not write them again when it can read the values', async () => {
    put('Secret', 'sec', { data: { password: base64(VALUE) } });
    const uid = content.run('a', [secret, configMap]);
    put('ConfigMap', 'conf', { data: { a: '1' } });
    await content.node.untilReady(uid);
    const folders = [content.folder(uid, 'secret', 's'), content.folder(uid, 'configmap', 'c')];
    const before = folders.map(current);
    const reported = content.node.published(uid);
    await content.node.kill();
    await content.stopCache();
    await content.startManager();
    await content.node.until(() => content.node.published(uid)?.awaits !== undefined);
    expect(content.node.published(uid)).toMatchObject({ ready: true, volumes: reported?.volumes ?? {} });
    await content.startCache();
    await content.node.until(() => content.node.published(uid)?.awaits === undefined);
    expect(folders.map(current)).toEqual(before);
    expect(folders.every((folder) => existsSync(join(folder, '..data')))).toBe(true);
  });
});
