import { describe, expect, test } from '@jest/globals';
import { type ContainerProbes, podSchema } from '@kubus/contracts';
import * as fc from 'fast-check';
import { ProbeMemory } from './probe-memory.ts';

describe('the probe results of a pod', () => {
  test('report which results have changed', () => {
    const memory = new ProbeMemory();
    expect(memory.learn({ containers: { a: { readiness: 'unknown', liveness: 'success' } } })).toEqual([
      'liveness',
      'readiness',
    ]);
    expect(memory.learn({ containers: { a: { readiness: 'unknown', liveness: 'success' } } })).toEqual([]);
    expect(memory.learn({ containers: { a: { readiness: 'success' } } })).toEqual(['readiness']);
  });

  test('are dropped only when asked to', () => {
    const results: Record<string, ContainerProbes> = { b: { startup: 'failure' }, c: { startup: 'success' } };
    const memory = new ProbeMemory({ a: { startup: 'success' }, ...results });
    memory.keepOnly(undefined, { containers: {} });
    expect(Object.keys(memory.toRecord())).toEqual(['a', 'b', 'c']);
    memory.keepOnly({ containers: [{ id: 'b' }] }, { containers: { c: {} } });
    expect(memory.toRecord()).toEqual(results);
  });

  test('are taken from another agent’s status where none are known', () => {
    const probe = { exec: { command: ['true'] } };
    const running = { running: { startedAt: '2030-01-01T00:00:00Z' } };
    const status = (name: string, more: object) => ({
      name,
      ready: true,
      started: true,
      restartCount: 0,
      image: 'i',
      imageID: 'i',
      ...more,
    });
    const pod = podSchema.parse({
      metadata: { name: 'p', namespace: 'n', uid: 'u' },
      spec: {
        initContainers: [{ name: 'side', restartPolicy: 'Always', startupProbe: probe }],
        containers: [
          { name: 'a', readinessProbe: probe, startupProbe: probe },
          { name: 'b', readinessProbe: probe },
          { name: 'unready', readinessProbe: probe },
          { name: 'ended', readinessProbe: probe },
          { name: 'plain' },
        ],
      },
      status: {
        initContainerStatuses: [status('side', { containerID: 'containerd://s', state: running })],
        containerStatuses: [
          status('a', { containerID: 'containerd://a', state: running }),
          status('b', { containerID: 'containerd://b', state: running }),
          status('unready', { containerID: 'containerd://u', state: running, ready: false }),
          status('ended', { containerID: 'containerd://e', state: { terminated: { exitCode: 0 } } }),
          status('plain', { containerID: 'containerd://p', state: running }),
        ],
      },
    });
    const memory = new ProbeMemory({ b: { readiness: 'failure' } });
    memory.recall(pod);
    expect(memory.toRecord()).toEqual({
      s: { startup: 'success' },
      a: { startup: 'success', readiness: 'success' },
      b: { readiness: 'failure' },
    });
    memory.learn({ containers: { a: { readiness: 'unknown' } } });
    expect(memory.results.readiness.get('a')).toBe('success');
  });

  test('are the last known ones of each probe, also after a restart', () => {
    const kinds = ['startup', 'liveness', 'readiness'] as const;
    const results = fc.constantFrom('success' as const, 'failure' as const, 'unknown' as const);
    const said = fc.dictionary(
      fc.constantFrom('a', 'b'),
      fc.record({ startup: results, liveness: results, readiness: results }, { requiredKeys: [] }),
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(fc.array(said), (history) => {
        let memory = new ProbeMemory();
        for (const containers of history) {
          memory.learn({ containers });
          memory = new ProbeMemory(JSON.parse(JSON.stringify(memory.toRecord())) as Record<string, ContainerProbes>);
        }
        for (const id of ['a', 'b']) {
          for (const kind of kinds) {
            const all = history.flatMap((containers) => containers[id]?.[kind] ?? []);
            const expected = all.findLast((result) => result !== 'unknown') ?? all.at(-1);
            expect(memory.results[kind].get(id)).toBe(expected);
          }
        }
      }),
    );
  });
});
