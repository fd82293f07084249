import type { Pod, PodUpdate } from '@kubus/contracts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ConfigState, allSourcesComplete, emptyConfig, merge, podsDifferSemantically } from './merge.ts';

const SEEN = 'kubernetes.io/config.seen';
const SOURCE = 'kubernetes.io/config.source';

interface PodParts {
  readonly uid?: string;
  readonly name?: string;
  readonly image?: string;
  readonly meta?: Partial<Pod['metadata']>;
  readonly phase?: string;
}

function pod({ uid = 'u1', name = 'a', image = 'i', meta = {}, phase = 'Pending' }: PodParts = {}): Pod {
  return {
    metadata: { name, namespace: 'default', uid, ...meta },
    spec: { containers: [{ name: 'c', image }] },
    status: { phase },
  };
}

const set = (state: ConfigState, pods: readonly Pod[], source = 'file') =>
  merge(state, { source, pods, complete: true });
const operations = (updates: readonly PodUpdate[]) =>
  updates.map((update) => [update.operation, update.pod.metadata.uid]);

describe('a pod that changes', () => {
  const seen = pod({ meta: { annotations: { [SEEN]: 't1', own: 'x' }, resourceVersion: '1' } });
  const next = (change: PodParts) =>
    pod({ ...change, meta: { annotations: { [SEEN]: 't2', own: 'x' }, resourceVersion: '2', ...change.meta } });
  const { state } = set(emptyConfig(['file']), [seen]);

  test.each<readonly [string, PodParts, string | undefined]>([
    ['only annotations that the node maintains', {}, undefined],
    ['only resourceVersion and generation', { meta: { resourceVersion: '3', generation: 2 } }, undefined],
    ['spec', { image: 'j' }, 'UPDATE'],
    ['spec and status', { image: 'j', phase: 'Running' }, 'UPDATE'],
    ['labels', { meta: { labels: { a: 'b' } } }, 'UPDATE'],
    ['annotations', { meta: { annotations: { [SEEN]: 't2', own: 'y' } } }, 'UPDATE'],
    ['deletionGracePeriodSeconds', { meta: { deletionGracePeriodSeconds: 5 } }, 'UPDATE'],
    ['deletionTimestamp', { meta: { deletionTimestamp: 't' } }, 'DELETE'],
    ['deletionTimestamp and spec', { image: 'j', meta: { deletionTimestamp: 't' } }, 'DELETE'],
    ['status', { phase: 'Running' }, 'RECONCILE'],
  ])('in %s causes the operation', (_, change, operation) => {
    const { updates, state: after } = set(state, [next(change)]);
    expect(operations(updates)).toEqual(operation === undefined ? [] : [[operation, 'u1']]);
    const held = after.get('file')?.pods.get('u1');
    expect(held?.metadata.annotations).toMatchObject({ [SEEN]: 't1', [SOURCE]: 'file' });
    expect(held?.spec).toEqual(next(change).spec);
    expect(held?.status).toEqual(next(change).status);
    expect(set(after, [next(change)]).updates).toEqual([]);
  });

  test('is replaced by the update, except for when it was first seen', () => {
    const labelled = next({
      image: 'j',
      meta: { labels: { a: 'b' }, generation: 7, annotations: { [SEEN]: 't2', new: 'z' } },
    });
    expect(set(state, [labelled]).updates[0]?.pod).toEqual({
      ...labelled,
      metadata: {
        ...labelled.metadata,
        resourceVersion: '2',
        annotations: { new: 'z', [SEEN]: 't1', [SOURCE]: 'file' },
      },
    });
  });

  test('causes an ADD when it is new, even if it is being deleted', () => {
    const ending = pod({ meta: { deletionTimestamp: 't' } });
    expect(operations(set(emptyConfig(['api']), [ending], 'api').updates)).toEqual([['ADD', 'u1']]);
  });
});

test('merge delivers REMOVE, ADD, UPDATE, DELETE, RECONCILE in this order', () => {
  const names = ['stays', 'updated', 'deleted', 'reconciled', 'removed'];
  const before = set(
    emptyConfig(['api']),
    names.map((name) => pod({ uid: name, name })),
    'api',
  );
  const { updates } = set(
    before.state,
    [
      pod({ uid: 'reconciled', name: 'reconciled', phase: 'Running' }),
      pod({ uid: 'deleted', name: 'deleted', meta: { deletionTimestamp: 't' } }),
      pod({ uid: 'updated', name: 'updated', image: 'j' }),
      pod({ uid: 'added', name: 'added' }),
      pod({ uid: 'stays', name: 'stays' }),
    ],
    'api',
  );
  expect(operations(updates)).toEqual([
    ['REMOVE', 'removed'],
    ['ADD', 'added'],
    ['UPDATE', 'updated'],
    ['DELETE', 'deleted'],
    ['RECONCILE', 'reconciled'],
  ]);
});

describe('duplicates', () => {
  test('include the second pod with the same name, which is dropped', () => {
    const { updates, dropped } = set(emptyConfig(['file']), [pod(), pod({ uid: 'u2' })]);
    expect(operations(updates)).toEqual([['ADD', 'u1']]);
    expect(dropped).toEqual([
      {
        pod: pod({ uid: 'u2' }),
        field: 'metadata.name',
        other: pod(),
        reason: 'FailedValidation',
        message: 'Error validating pod a_default(u2) from file due to duplicate pod name "a", ignoring',
      },
    ]);
  });

  test('include the second pod with the same UID, which is dropped', () => {
    const { updates, dropped } = set(emptyConfig(['file']), [pod(), pod({ name: 'b' })]);
    expect(operations(updates)).toEqual([['ADD', 'u1']]);
    expect(dropped.map(({ message }) => message)).toEqual([
      'Error validating pod b_default(u1) from file due to duplicate pod UID "u1", ignoring',
    ]);
  });

  test('do not include the same name in two namespaces or two sources', () => {
    const other = pod({ uid: 'u2', meta: { namespace: 'other' } });
    const first = set(emptyConfig(['file', 'api']), [pod(), other]);
    const second = set(first.state, [pod({ uid: 'u3' })], 'api');
    expect([...first.dropped, ...second.dropped]).toEqual([]);
  });

  test('include a known pod whose name is used by an earlier one of its set, which removes it', () => {
    const { state } = set(emptyConfig(['file']), [pod()]);
    const { updates } = set(state, [pod({ uid: 'u2' }), pod()]);
    expect(operations(updates)).toEqual([
      ['REMOVE', 'u1'],
      ['ADD', 'u2'],
    ]);
  });
});

describe('completeness', () => {
  test('requires a complete set from each registered source, even an empty one', () => {
    let state = emptyConfig(['file', 'api']);
    expect(allSourcesComplete(state)).toBe(false);
    const file = set(state, []);
    expect([file.updates, file.completed]).toEqual([[], true]);
    state = file.state;
    expect(set(state, []).completed).toBe(false);
    const part = merge(state, { source: 'api', pods: [pod()], complete: false });
    expect([part.completed, allSourcesComplete(part.state)]).toEqual([false, false]);
    const whole = set(part.state, [pod()], 'api');
    expect([whole.updates, whole.completed, allSourcesComplete(whole.state)]).toEqual([[], true, true]);
    expect(allSourcesComplete(emptyConfig([]))).toBe(true);
  });

  test('is not assumed for a partial set, which removes nothing', () => {
    const { state } = set(emptyConfig(['api']), [pod(), pod({ uid: 'u2', name: 'b' })], 'api');
    const part = merge(state, { source: 'api', pods: [pod({ image: 'j' })], complete: false });
    expect(operations(part.updates)).toEqual([['UPDATE', 'u1']]);
    expect([...(part.state.get('api')?.pods.keys() ?? [])]).toEqual(['u1', 'u2']);
    expect(allSourcesComplete(part.state)).toBe(true);
  });
});

describe('a pod that is reported as removed', () => {
  const both = set(emptyConfig(['api']), [pod(), pod({ uid: 'u2', name: 'b' })], 'api').state;
  const part = (pods: readonly Pod[], removed: readonly string[]) =>
    merge(both, { source: 'api', pods, removed, complete: false });

  test('is removed, and no other pod', () => {
    const { updates, state } = part([], ['u1', 'unknown']);
    expect(operations(updates)).toEqual([['REMOVE', 'u1']]);
    expect([...(state.get('api')?.pods.keys() ?? [])]).toEqual(['u2']);
  });

  test('releases its name for another pod', () => {
    expect(operations(part([pod({ uid: 'u3' })], ['u1']).updates)).toEqual([
      ['REMOVE', 'u1'],
      ['ADD', 'u3'],
    ]);
  });

  test('is kept when the set also contains it', () => {
    expect(operations(part([pod({ image: 'j' })], ['u1']).updates)).toEqual([['UPDATE', 'u1']]);
  });
});

describe('any sequence of sets', () => {
  const parts = fc.record({
    uid: fc.constantFrom('u1', 'u2', 'u3', 'u4'),
    name: fc.constantFrom('a', 'b', 'c'),
    image: fc.constantFrom('i', 'j'),
    phase: fc.constantFrom('Pending', 'Running'),
    meta: fc.record(
      {
        labels: fc.constantFrom<Record<string, string>>({}, { a: 'b' }),
        deletionTimestamp: fc.constantFrom(null, 't'),
        annotations: fc.constantFrom<Record<string, string>>({ [SEEN]: 't1' }, { [SEEN]: 't2', own: 'x' }),
      },
      { requiredKeys: [] },
    ),
  });
  const sets = fc.array(
    fc.record({
      source: fc.constantFrom('file', 'api'),
      pods: fc.array(parts.map(pod), { maxLength: 5 }),
      complete: fc.boolean(),
      removed: fc.array(fc.constantFrom('u1', 'u2', 'u3', 'u4'), { maxLength: 2 }),
    }),
    { maxLength: 8 },
  );
  const order = ['REMOVE', 'ADD', 'UPDATE', 'DELETE', 'RECONCILE'];

  test('can be reconstructed from its updates', () => {
    fc.assert(
      fc.property(sets, (sequence) => {
        let state = emptyConfig(['file', 'api']);
        const follower = new Map<string, Map<string, Pod>>([
          ['file', new Map()],
          ['api', new Map()],
        ]);
        for (const step of sequence) {
          const given = JSON.stringify(step);
          const before = JSON.stringify([...state].map(([name, { pods }]) => [name, [...pods]]));
          const result = merge(state, step);

          // The arguments were not changed, and a second call gives the same result.
          expect(JSON.stringify(step)).toBe(given);
          expect(JSON.stringify([...state].map(([name, { pods }]) => [name, [...pods]]))).toBe(before);
          expect(merge(state, step)).toEqual(result);

          // At most one update for each pod, in delivery order, and each consistent with the follower's state.
          const uids = result.updates.map((update) => update.pod.metadata.uid);
          expect(new Set(uids).size).toBe(uids.length);
          const ranks = result.updates.map((update) => order.indexOf(update.operation));
          expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
          const own = follower.get(step.source) ?? new Map<string, Pod>();
          for (const { operation, pod: changed, source } of result.updates) {
            const { uid } = changed.metadata;
            expect(source).toBe(step.source);
            expect(own.has(uid)).toBe(operation !== 'ADD');
            if (operation === 'REMOVE') own.delete(uid);
            else own.set(uid, changed);
          }
          state = result.state;
          for (const [name, pods] of follower) expect(pods).toEqual(state.get(name)?.pods);

          // The stored set equals the set that was passed in, except for dropped pods.
          const dropped = new Set(result.dropped.map(({ pod: one }) => one));
          const kept = step.pods.filter((one) => !dropped.has(one));
          for (const one of kept) {
            const held = own.get(one.metadata.uid);
            expect(held !== undefined && !podsDifferSemantically(held, one)).toBe(true);
            expect(held?.status).toEqual(one.status);
          }
          if (step.complete) expect([...own.keys()].sort()).toEqual(kept.map((one) => one.metadata.uid).sort());
          const wanted = new Set(kept.map((one) => one.metadata.uid));
          for (const uid of step.removed) expect(own.has(uid)).toBe(wanted.has(uid));
          expect(merge(state, { ...step, pods: kept }).updates).toEqual([]);
        }
      }),
    );
  });
});
