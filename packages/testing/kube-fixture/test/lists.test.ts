import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type JsonObject, type SeenWatch } from '../src/index.ts';
import { JudgedCluster } from './judged-cluster.ts';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open();
});
afterAll(() => judged.close());

const configMap = (name: string, labels: JsonObject = {}, data: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: judged.namespace, labels },
  data,
});
const list = async (query: Record<string, string> = {}, path = 'configmaps') =>
  (await judged.cluster.raw('GET', judged.path(path), { query })).body;
const namesIn = (body: JsonObject) =>
  (body['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
const versionOf = (body: JsonObject) =>
  (body as unknown as { metadata: { resourceVersion: string } }).metadata.resourceVersion;

describe('a list', () => {
  beforeAll(async () => {
    for (const name of ['list-c', 'list-a', 'list-b', 'list-d']) {
      await judged.cluster.create(configMap(name, { part: 'list', one: name, ...(name === 'list-d' && { odd: '' }) }));
    }
  });

  test('is ordered by name, has a version, and its items do not repeat their type', async () => {
    const body = await list({ labelSelector: 'part=list' });
    expect(body).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1' });
    expect(namesIn(body)).toEqual(['list-a', 'list-b', 'list-c', 'list-d']);
    expect(versionOf(body)).toMatch(/^\d+$/);
    for (const item of body['items'] as JsonObject[]) expect(item).not.toHaveProperty('kind');
  });

  test.each([
    ['part=list,one=list-a', ['list-a']],
    ['part=list,one!=list-a', ['list-b', 'list-c', 'list-d']],
    ['part in (list,other),one in (list-a, list-b)', ['list-a', 'list-b']],
    ['part=list,one notin (list-a,list-b)', ['list-c', 'list-d']],
    ['part=list,odd', ['list-d']],
    ['part=list,!odd', ['list-a', 'list-b', 'list-c']],
    ['part==other', []],
  ])('is selected by labels: %s', async (labelSelector, names) => {
    expect(namesIn(await list({ labelSelector }))).toEqual(names);
  });

  test('is selected by fields', async () => {
    await judged.pod('field-a');
    await judged.pod('field-b', { nodeName: 'another' });
    const select = async (fieldSelector: string) => namesIn(await list({ fieldSelector }, 'pods'));
    expect(await select(`spec.nodeName=${judged.node}`)).toEqual(['field-a']);
    expect(await select(`spec.nodeName!=${judged.node}`)).toEqual(['field-b']);
    expect(await select('status.phase=Pending,metadata.name=field-b')).toEqual(['field-b']);
    expect(await select(`spec.nodeName=${judged.node},spec.hostNetwork=false`)).toEqual(['field-a']);
    expect(await select(`spec.nodeName=${judged.node},spec.hostNetwork=true`)).toEqual([]);
    expect(await list({ fieldSelector: 'spec.nothing=a' }, 'pods')).toMatchObject({ code: 400 });
  });

  test('is returned in pages of one version', async () => {
    const first = await list({ labelSelector: 'part=list', limit: '3' });
    expect(namesIn(first)).toEqual(['list-a', 'list-b', 'list-c']);
    await judged.cluster.create(configMap('list-e', { part: 'list' }));
    const { continue: token } = first['metadata'] as { continue: string };
    const second = await list({ labelSelector: 'part=list', limit: '3', continue: token });
    expect(namesIn(second)).toEqual(['list-d']);
    expect(versionOf(second)).toBe(versionOf(first));
    expect(second['metadata']).not.toHaveProperty('continue');
  });

  test('can be read at an exact version', async () => {
    const before = versionOf(await list());
    await judged.cluster.create(configMap('list-z', { part: 'exact' }));
    const query = { labelSelector: 'part=exact', resourceVersion: before, resourceVersionMatch: 'Exact' };
    expect(namesIn(await list(query))).toEqual([]);
    const newer = { labelSelector: 'part=exact', resourceVersion: before, resourceVersionMatch: 'NotOlderThan' };
    expect(namesIn(await list(newer))).toEqual(['list-z']);
  });

  test('at a future version is refused with a retry', async () => {
    const body = await list({ resourceVersion: '900000000' });
    expect(body).toMatchObject({
      code: 504,
      reason: 'Timeout',
      details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
    });
    expect(body['message']).toMatch(/^Timeout: Too large resource version: 900000000, current: \d+$/);
  });

  test.each([
    [{ resourceVersion: 'x' }, 400],
    [{ resourceVersionMatch: 'Exact' }, 422],
    [{ resourceVersionMatch: 'Exact', resourceVersion: '0' }, 422],
    [{ labelSelector: 'a=b=c' }, 400],
    [{ continue: 'nonsense' }, 400],
  ])('is refused: %j', async (query, code) => {
    expect(await list(query)).toMatchObject({ kind: 'Status', code });
  });
});

describe('a watch', () => {
  const watches: SeenWatch[] = [];
  afterAll(() => {
    for (const watch of watches) watch.close();
  });
  const watch = async (query: Record<string, string>, path = 'configmaps') => {
    const opened = await judged.cluster.watch(judged.path(path), query);
    watches.push(opened);
    return opened;
  };
  const next = async (seen: SeenWatch) => {
    const event = await seen.next();
    return event && `${event.type} ${event.object.metadata.name}`;
  };

  test('continues after its version', async () => {
    const { metadata } = await judged.cluster.create(configMap('watch-a', { part: 'watch' }));
    const seen = await watch({ resourceVersion: metadata.resourceVersion, labelSelector: 'part=watch' });
    await judged.cluster.create(configMap('watch-b', { part: 'watch' }));
    const changed = await judged.cluster.patch(
      { kind: 'ConfigMap', namespace: judged.namespace, name: 'watch-a' },
      { data: { a: 'b' } },
    );
    const first = await seen.next();
    expect(first).toMatchObject({
      type: 'ADDED',
      object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'watch-b' } },
    });
    expect(await seen.next()).toMatchObject({
      type: 'MODIFIED',
      object: { metadata: { resourceVersion: changed.metadata.resourceVersion }, data: { a: 'b' } },
    });
    await judged.cluster.delete({ kind: 'ConfigMap', namespace: judged.namespace, name: 'watch-a' });
    const last = await seen.next();
    expect(last).toMatchObject({ type: 'DELETED', object: { data: { a: 'b' } } });
    expect(Number(last?.object.metadata.resourceVersion)).toBeGreaterThan(Number(changed.metadata.resourceVersion));
    // The same again, from the history only.
    const again = await watch({ resourceVersion: metadata.resourceVersion, labelSelector: 'part=watch' });
    expect([await next(again), await next(again), await next(again)]).toEqual([
      'ADDED watch-b',
      'MODIFIED watch-a',
      'DELETED watch-a',
    ]);
  });

  test.each<Record<string, string>>([{}, { resourceVersion: '0' }])(
    'starts with the existing objects: %j',
    async (version) => {
      const part = `state${Object.keys(version).length}`;
      await judged.cluster.create(configMap(`${part}-b`, { part }));
      await judged.cluster.create(configMap(`${part}-a`, { part }));
      const seen = await watch({ ...version, labelSelector: `part=${part}` });
      expect([await next(seen), await next(seen)]).toEqual([`ADDED ${part}-a`, `ADDED ${part}-b`]);
      await judged.cluster.create(configMap(`${part}-c`, { part }));
      expect(await next(seen)).toBe(`ADDED ${part}-c`);
    },
  );

  test('reports objects as added and deleted by its selector', async () => {
    const pod = await judged.pod('moving', { nodeName: '' });
    const seen = await watch(
      {
        resourceVersion: pod.metadata.resourceVersion,
        fieldSelector: `spec.nodeName=${judged.node},metadata.name=moving`,
      },
      'pods',
    );
    const labelled = await watch({ resourceVersion: pod.metadata.resourceVersion, labelSelector: 'moved=yes' }, 'pods');
    await judged.cluster.raw('POST', judged.path('pods/moving/binding'), {
      body: {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: 'moving' },
        target: { apiVersion: 'v1', kind: 'Node', name: judged.node },
      },
    });
    const bound = await seen.next();
    expect(bound).toMatchObject({ type: 'ADDED', object: { spec: { nodeName: judged.node } } });
    expect(bound?.object.status?.['conditions']).toMatchObject([{ type: 'PodScheduled', status: 'True' }]);
    const name = { kind: 'Pod', namespace: judged.namespace, name: 'moving' };
    await judged.cluster.patch(name, { metadata: { labels: { moved: 'yes' } } });
    const left = await judged.cluster.patch(name, { metadata: { labels: { moved: 'no' } } });
    expect(await next(labelled)).toBe('ADDED moving');
    expect(await labelled.next()).toMatchObject({
      type: 'DELETED',
      object: { metadata: { labels: { moved: 'yes' }, resourceVersion: left.metadata.resourceVersion } },
    });
  });

  test('that streams its list ends the list with a bookmark', async () => {
    await judged.cluster.create(configMap('stream-a', { part: 'stream' }));
    const seen = await watch({
      labelSelector: 'part=stream',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
    });
    expect(await next(seen)).toBe('ADDED stream-a');
    const bookmark = await seen.next();
    expect(bookmark).toMatchObject({
      type: 'BOOKMARK',
      object: {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } },
      },
    });
    expect(bookmark?.object.metadata.resourceVersion).toMatch(/^\d+$/);
  });

  test.each([
    [{ sendInitialEvents: 'true' }, 422],
    [{ resourceVersionMatch: 'NotOlderThan' }, 422],
    [{ resourceVersion: 'x' }, 500],
  ])('is refused: %j', async (query, code) => {
    const answer = await judged.cluster.raw('GET', judged.path('configmaps'), { query: { watch: 'true', ...query } });
    expect(answer.body).toMatchObject({ kind: 'Status', code });
  });

  test('ends at its timeout', async () => {
    const seen = await watch({ timeoutSeconds: '1', labelSelector: 'part=none' });
    expect(await seen.next()).toBeUndefined();
  });

  test('of a single object by name reports only that object', async () => {
    const { metadata } = await judged.cluster.create(configMap('single'));
    const seen = await watch({ resourceVersion: metadata.resourceVersion, fieldSelector: 'metadata.name=single-2' });
    await judged.cluster.create(configMap('single-1'));
    await judged.cluster.create(configMap('single-2'));
    expect(await next(seen)).toBe('ADDED single-2');
  });
});
