import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Bus } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import { type ImagePull, type ObjectVersion, findImage, imagePull, pullImage } from '@kubus/contracts';
import { parseDockerConfigJson } from '@kubus/images';
import { silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords, settled } from '@kubus/ports/testing';
import type { PullImageRequest } from '@kubus/proto/cri';
import { PullCredentials, PulledImages } from '../src/index.ts';
import { Images, type ImagesOptions } from '../src/image/images.ts';
import { ScriptedRuntime, failure } from './scripted-runtime.ts';

const dockerConfig = (registry: string, username: string) =>
  JSON.stringify({ auths: { [registry]: { username, password: `secret of ${username}` } } });
const secretRef = (name: string): ObjectVersion => ({ kind: 'Secret', namespace: 'n', name, version: '1' });
const NAME = 'r.io/team/app';

let clock: ManualClock;
let runtime: ScriptedRuntime;
let worker: Bus;
let shown: Map<string, ImagePull>;
let pulling: MemoryRecords;
let pulled: MemoryRecords;
let given: string[];
/** Secrets by name: the content of their `.dockerconfigjson`. */
let secrets: Map<string, string>;
let onNode: string | undefined;
/** What the runtime has: IDs by the requested name. */
let there: Map<string, string>;
let open: (request: PullImageRequest) => Promise<void>;

beforeEach(() => {
  clock = new ManualClock();
  [pulling, pulled] = [new MemoryRecords(), new MemoryRecords()];
  secrets = new Map();
  there = new Map();
  onNode = undefined;
  given = [];
  open = () => Promise.resolve();
});

async function start(change: Partial<ImagesOptions> = {}): Promise<Images> {
  const broker = new LocalBroker('node0');
  const { bus } = broker.join('cri-bridge', clock);
  worker = broker.join('pod-workers', clock).bus;
  shown = new Map();
  broker.join('cli', clock).bus.reader(imagePull, {
    changed: ({ key, value }) => shown.set(key, value),
    removed: ({ key }) => shown.delete(key),
  });
  runtime = new ScriptedRuntime()
    .on('ImageStatus', ({ image }) => {
      const id = there.get(image?.image ?? '');
      return id === undefined ? {} : { image: { id, size: '7' } };
    })
    .on('PullImage', async (request) => {
      await open(request);
      const name = request.image?.image ?? '';
      there.set(name, `id of ${name}`);
      return { imageRef: `id of ${name}` };
    });
  const images = new Images({
    ...{ runtime, bus, clock, logger: silentLogger },
    credentials: new PullCredentials({
      objects: {
        read: ({ name }) => {
          const values = new Map([['.dockerconfigjson', Buffer.from(secrets.get(name) ?? '')]]);
          const type = secrets.has(name) ? 'kubernetes.io/dockerconfigjson' : 'Opaque';
          return Promise.resolve({ uid: `uid of ${name}`, version: '1', type, values, binaryValues: new Map() });
        },
      },
      node: {
        for: () => Promise.resolve(onNode === undefined ? [] : [{ config: parseDockerConfigJson(onNode, 'node') }]),
      },
    }),
    pulled: await PulledImages.load({ pulling, pulled, logger: silentLogger }),
    limits: { rate: undefined, atOnce: Infinity },
    verification: { policy: 'NeverVerifyPreloadedImages', allowlist: [] },
    onGiven: (id) => given.push(id),
    ...change,
  });
  images.serve();
  await settled();
  return images;
}

const podRef = (uid: string) => ({ uid, name: uid, namespace: 'n' });

async function pull(uid: string, options: { image?: string; secrets?: string[] } = {}) {
  const { image = `${NAME}:1`, secrets: names = [] } = options;
  const request = { image, pod: podRef(uid), pullSecrets: names.map(secretRef), annotations: { a: 'b' } };
  return (await worker.call(pullImage, uid, request)).result;
}

async function find(uid: string, options: { image?: string; secrets?: string[] } = {}) {
  const { image = `${NAME}:1`, secrets: names = [] } = options;
  const request = { image, pod: podRef(uid), pullSecrets: names.map(secretRef) };
  return (await worker.call(findImage, uid, request)).result;
}

/** The users with which the runtime was called. */
function users(): (string | undefined)[] {
  const requests = runtime.calls.filter(({ method }) => method === 'PullImage').map(({ request }) => request);
  return (requests as PullImageRequest[]).map(({ auth }) => auth?.username);
}

/** From now on only this user may pull. */
function only(user: string | undefined): void {
  open = ({ auth, image }) =>
    auth?.username === user
      ? Promise.resolve()
      : Promise.reject(
          failure('Unknown', `failed to pull ${image?.image ?? ''}: ${auth?.username ?? 'nobody'} may not`),
        );
}

describe('credentials', () => {
  test('are tried in order, the pod’s before the node’s, until one is accepted', async () => {
    await start();
    secrets = new Map([
      ['whole', dockerConfig('r.io', 'whole')],
      ['team', dockerConfig('https://r.io/team', 'team')],
      ['other', dockerConfig('other.io', 'other')],
    ]);
    onNode = dockerConfig('r.io', 'node');
    only('node');
    const { imageRef, image } = await pull('a', { secrets: ['whole', 'team', 'other', 'gone'] });
    expect(users()).toEqual(['team', 'whole', 'node']);
    expect([imageRef, image?.size]).toEqual([`id of ${NAME}:1`, '7']);
    expect(given).toEqual([imageRef]);
  });

  test('that are all refused are all reported; without credentials there is one attempt', async () => {
    await start();
    secrets.set('s', dockerConfig('r.io', 'bad'));
    onNode = dockerConfig('r.io', 'worse');
    only('good');
    const refused = (user: string) => `failed to pull ${NAME}:1: ${user} may not`;
    await expect(pull('a', { secrets: ['s'] })).rejects.toMatchObject({
      code: 'pull-failed',
      message: `[${refused('bad')}, ${refused('worse')}]`,
    });
    onNode = undefined;
    await expect(pull('a')).rejects.toMatchObject({ code: 'pull-failed', message: refused('nobody') });
  });

  test('from an invalid Secret fail the pull, and the error does not quote the Secret', async () => {
    await start();
    secrets.set('s', '{"auths": "hunter2"}');
    await expect(pull('a', { secrets: ['s'] })).rejects.toMatchObject({
      code: 'pull-failed',
      message: 'Secret n/s is not a docker configuration',
    });
    expect(runtime.count('PullImage')).toBe(0);
  });
});

describe('an answer of the runtime', () => {
  test('is reported with its code', async () => {
    await start();
    open = () => Promise.reject(failure('NotFound', 'no such manifest'));
    await expect(pull('a')).rejects.toMatchObject({ message: 'rpc error: code = NotFound desc = no such manifest' });
  });

  test('about an unavailable registry is a failed pull; a lost runtime is not', async () => {
    await start();
    open = () => Promise.reject(failure('Unavailable', `failed to pull "${NAME}:1": 503`));
    await expect(pull('a')).rejects.toMatchObject({ code: 'pull-failed' });
    open = () => Promise.reject(failure('Unavailable', 'Connection dropped'));
    await expect(pull('a')).rejects.toMatchObject({ code: 'Unavailable' });
  });
});

describe('several pulls', () => {
  let ends: Map<string, () => void>;
  beforeEach(() => {
    ends = new Map();
    open = ({ image }) => new Promise((resolve) => ends.set(image?.image ?? '', resolve));
  });
  const standing = () => [...shown.values()].map(({ image, state, ahead, pods }) => [image, state, ahead, pods.length]);

  test('run one at a time when serialized, and their queue positions are published', async () => {
    const images = await start({ limits: { rate: undefined, atOnce: 1 } });
    const [a, b] = [pull('a', { image: 'a:1' }), pull('b', { image: 'b:1' })];
    await settled();
    const c = pull('c', { image: 'b:1' });
    await settled();
    expect(standing()).toEqual([
      ['a:1', 'pulling', undefined, 1],
      ['b:1', 'queued', 0, 2],
    ]);
    expect(images.pulls).toEqual({ pulling: 1, waiting: 1 });
    expect([...ends.keys()]).toEqual(['a:1']);
    await clock.advance(500);
    ends.get('a:1')?.();
    expect((await a).pullMs).toBe(500);
    await settled();
    await clock.advance(20);
    ends.get('b:1')?.();
    expect([(await b).pullMs, (await c).pullMs]).toEqual([20, 20]);
    expect(runtime.count('PullImage')).toBe(2);
    expect(standing()).toEqual([]);
  });

  test('of one image with different credentials run one after the other and are not shared', async () => {
    await start();
    secrets.set('s', dockerConfig('r.io', 'user'));
    const [a, b] = [pull('a'), pull('b', { secrets: ['s'] })];
    await settled();
    expect(users()).toEqual([undefined]);
    ends.get(`${NAME}:1`)?.();
    await a;
    await settled();
    expect(users()).toEqual([undefined, 'user']);
    ends.get(`${NAME}:1`)?.();
    await b;
  });

  test('above the rate limit fail at once, as in the reference', async () => {
    await start({ limits: { rate: { qps: 1, burst: 1 }, atOnce: Infinity } });
    open = () => Promise.resolve();
    await pull('a', { image: 'a:1' });
    await expect(pull('b', { image: 'b:1' })).rejects.toMatchObject({
      code: 'pull-failed',
      message: 'pull QPS exceeded',
    });
    await clock.advance(1000);
    await pull('b', { image: 'b:1' });
  });
});

describe('an existing image', () => {
  test('that was not pulled by the node may be used by every pod', async () => {
    await start();
    there.set(`${NAME}:1`, 'x');
    expect(await find('a')).toMatchObject({ mayUse: true, image: { id: 'x' } });
    expect(await find('a', { image: 'absent:1' })).toEqual({ mayUse: false });
    expect(given).toEqual(['x']);
  });

  test('pulled with a pod’s Secret may be used with that Secret, also after a restart', async () => {
    await start();
    secrets = new Map([
      ['s', dockerConfig('r.io', 'user')],
      ['copy', dockerConfig('r.io', 'user')],
      ['other', dockerConfig('r.io', 'other')],
      ['broken', 'no json'],
    ]);
    only('user');
    await pull('a', { secrets: ['s'] });
    expect(JSON.stringify([...(await pulled.load()).values()])).not.toContain('secret of');
    for (let life = 0; life < 2; life++) {
      const may = async (...names: string[]) => (await find('b', { secrets: names })).mayUse;
      expect([await may(), await may('s'), await may('copy'), await may('other'), await may('broken')]).toEqual([
        ...[false, true, true],
        ...[false, false],
      ]);
      await start();
    }
  });

  test('pulled with the node’s credentials may be used by every pod', async () => {
    await start();
    onNode = dockerConfig('r.io', 'node');
    await pull('a');
    expect(await find('b')).toMatchObject({ mayUse: true });
  });

  test('pulled while the bridge crashed may be used by no pod until it is pulled again', async () => {
    await start();
    open = () => new Promise(() => undefined);
    void pull('a');
    await settled();
    there.set(`${NAME}:1`, `id of ${NAME}:1`);
    const next = await start();
    open = () => Promise.resolve();
    expect(await find('b')).toMatchObject({ mayUse: false });
    await next.settleStarted();
    expect((await pulling.load()).size).toBe(0);
    expect(await find('b')).toMatchObject({ mayUse: false });
    await pull('b');
    expect(await find('c')).toMatchObject({ mayUse: true });
  });

  test('stays usable as before when a pull of it fails', async () => {
    await start();
    there.set(`${NAME}:1`, 'x');
    only('nobody can');
    await expect(pull('a')).rejects.toMatchObject({ code: 'pull-failed' });
    expect((await pulling.load()).size).toBe(0);
    expect(await find('b')).toMatchObject({ mayUse: true });
  });
});
