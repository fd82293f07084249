// Events of both groups are the same objects.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { asList } from '@kubus/kube-objects';
import type { JsonObject, KubeObject } from '../src/index.ts';
import { JudgedCluster, refused } from './judged-cluster.ts';

const TIME = '2026-01-02T03:04:05.000006Z';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open();
});
afterAll(() => judged.close());

const core = (name = '') => `/api/v1/namespaces/${judged.namespace}/events${name === '' ? '' : `/${name}`}`;
const events = (name = '') =>
  `/apis/events.k8s.io/v1/namespaces/${judged.namespace}/events${name === '' ? '' : `/${name}`}`;
const send = (method: string, path: string, body?: JsonObject) => judged.cluster.raw(method, path, body && { body });

const event = (name: string, fields: JsonObject = {}): JsonObject => ({
  ...{ apiVersion: 'events.k8s.io/v1', kind: 'Event', metadata: { name, namespace: judged.namespace } },
  ...{ eventTime: TIME, reportingController: 'example.com/c', reportingInstance: 'i', action: 'Act', reason: 'R' },
  ...{ type: 'Normal', note: 'text', regarding: { kind: 'Pod', namespace: judged.namespace, name: 'p' } },
  ...fields,
});
const old = (name: string, fields: JsonObject = {}): JsonObject => ({
  ...{ apiVersion: 'v1', kind: 'Event', metadata: { name, namespace: judged.namespace } },
  ...{ reason: 'R', type: 'Warning', message: 'text', count: 3, source: { component: 'kubelet', host: 'n' } },
  ...{ firstTimestamp: '2026-01-02T03:04:05Z', lastTimestamp: '2026-01-02T03:05:05Z' },
  involvedObject: { kind: 'Pod', namespace: judged.namespace, name: 'q', fieldPath: 'spec' },
  ...fields,
});
const without = (object: JsonObject) => {
  const { metadata: _, ...rest } = object;
  return rest;
};

describe('an event', () => {
  test('of events.k8s.io is one of the core group', async () => {
    const made = await send('POST', events(), event('new', { series: { count: 2, lastObservedTime: TIME } }));
    expect(made.code).toBe(201);
    expect(without(made.body)).toEqual({
      ...without(event('new', { series: { count: 2, lastObservedTime: TIME } })),
      ...{ deprecatedSource: {}, deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null },
    });
    expect(without((await send('GET', core('new'))).body)).toEqual({
      ...{ apiVersion: 'v1', kind: 'Event', eventTime: TIME, series: { count: 2, lastObservedTime: TIME } },
      ...{ reportingComponent: 'example.com/c', reportingInstance: 'i', action: 'Act', reason: 'R', type: 'Normal' },
      ...{ message: 'text', source: {}, firstTimestamp: null, lastTimestamp: null },
      involvedObject: { kind: 'Pod', namespace: judged.namespace, name: 'p' },
    });
  });

  test('of the core group is one of events.k8s.io, in lists, pages and tables too', async () => {
    const made = await send('POST', core(), old('old'));
    const shown = {
      ...{ eventTime: null, reason: 'R', type: 'Warning', note: 'text', deprecatedCount: 3 },
      deprecatedSource: { component: 'kubelet', host: 'n' },
      deprecatedFirstTimestamp: '2026-01-02T03:04:05Z',
      deprecatedLastTimestamp: '2026-01-02T03:05:05Z',
      regarding: { kind: 'Pod', namespace: judged.namespace, name: 'q', fieldPath: 'spec' },
    };
    const type = { apiVersion: 'events.k8s.io/v1', kind: 'Event' };
    expect(without((await send('GET', events('old'))).body)).toEqual({ ...type, ...shown });
    const list = await judged.cluster.raw('GET', events(), { query: { fieldSelector: 'regarding.name=q' } });
    expect(list.body).toMatchObject({ kind: 'EventList', apiVersion: 'events.k8s.io/v1' });
    expect((asList(list.body['items']) as KubeObject[]).map(without)).toEqual([shown]);
    const none = await judged.cluster.raw('GET', events(), { query: { fieldSelector: 'involvedObject.name=q' } });
    expect(none).toMatchObject(refused(400, 'BadRequest', /field label not supported: involvedObject.name/));
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const table = await judged.cluster.raw('GET', events('old'), { headers: { accept } });
    const [row] = asList(table.body['rows']) as JsonObject[];
    expect(asList(row?.['cells']).slice(1, 4)).toEqual(['Warning', 'R', 'pod/q']);
    // What "kubectl get --sort-by" asks for: the items of a list have no type, their rows have.
    const query = { includeObject: 'Object', fieldSelector: 'regarding.name=q' };
    const whole = await judged.cluster.raw('GET', events(), { headers: { accept }, query });
    expect(asList(whole.body['rows'])).toMatchObject([{ object: type }]);
    expect(made.code).toBe(201);
  });

  test('is changed in either group, which watches of both see', async () => {
    const { body } = await send('POST', events(), event('changes'));
    const { resourceVersion } = (body as KubeObject).metadata;
    const watches = [
      await judged.cluster.watch(core(), { resourceVersion }),
      await judged.cluster.watch(events(), { resourceVersion }),
    ];
    const series = { count: 2, lastObservedTime: TIME };
    expect(await judged.patch(events('changes'), 'merge', { series })).toMatchObject({ code: 200, body: { series } });
    expect(await judged.patch(core('changes'), 'strategic-merge', { message: 'other' })).toMatchObject({ code: 200 });
    const [ofCore, ofEvents] = watches;
    expect([await ofCore?.next(), await ofCore?.next()]).toMatchObject([
      { type: 'MODIFIED', object: { apiVersion: 'v1', message: 'text', series } },
      { type: 'MODIFIED', object: { apiVersion: 'v1', message: 'other', series } },
    ]);
    expect([await ofEvents?.next(), await ofEvents?.next()]).toMatchObject([
      { type: 'MODIFIED', object: { apiVersion: 'events.k8s.io/v1', note: 'text', series } },
      { type: 'MODIFIED', object: { apiVersion: 'events.k8s.io/v1', note: 'other', series } },
    ]);
    for (const watch of watches) watch.close();
    const note = await judged.patch(events('changes'), 'merge', { note: 'again' });
    expect(note).toMatchObject(refused(422, 'Invalid', /message: Invalid value: "again": field is immutable/));
    expect(await send('DELETE', events('changes'))).toMatchObject({ code: 200 });
    expect(await send('GET', core('changes'))).toMatchObject({ code: 404 });
  });

  test('is refused by field', async () => {
    const tries: readonly [JsonObject, RegExp][] = [
      [{ eventTime: null }, /eventTime: Required value/],
      [{ type: 'Other' }, /type: Invalid value: "": has invalid value: Other/],
      [{ deprecatedCount: 1 }, /count: Invalid value: "": needs to be unset/],
      [{ deprecatedSource: { component: 'c' } }, /source: Invalid value: "": needs to be unset/],
      [{ reportingController: '' }, /reportingController: Required value/],
      [{ action: '' }, /action: Required value/],
      [{ note: 'x'.repeat(1025) }, /message: Invalid value: "": can have at most 1024 characters/],
      [{ series: { count: 1, lastObservedTime: TIME } }, /series.count: Invalid value: "": should be at least 2/],
      [{ regarding: {} }, /involvedObject.namespace: Invalid value: "": does not match event.namespace/],
    ];
    for (const [fields, why] of tries) {
      expect(await send('POST', events(), event('bad', fields))).toMatchObject(refused(422, 'Invalid', why));
    }
    const elsewhere = old('bad', { involvedObject: { kind: 'Pod', namespace: 'else', name: 'p' } });
    expect(await send('POST', core(), elsewhere)).toMatchObject(
      refused(422, 'Invalid', /involvedObject.namespace: Invalid value: "else": does not match event.namespace/),
    );
  });
});
