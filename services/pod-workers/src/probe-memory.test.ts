import { describe, expect, test } from '@jest/globals';
import type { ContainerProbes } from '@kubus/contracts';
import * as fc from 'fast-check';
import { ProbeMemory } from './probe-memory.ts';

describe('the memory of probes', () => {
  test('tells which results are others', () => {
    const memory = new ProbeMemory();
    expect(memory.learn({ containers: { a: { readiness: 'unknown', liveness: 'success' } } })).toEqual([
      'liveness',
      'readiness',
    ]);
    expect(memory.learn({ containers: { a: { readiness: 'unknown', liveness: 'success' } } })).toEqual([]);
    expect(memory.learn({ containers: { a: { readiness: 'success' } } })).toEqual(['readiness']);
  });

  test('forgets only what it is told to', () => {
    const memory = new ProbeMemory({ a: { startup: 'success' }, b: { startup: 'failure' } });
    memory.keepOnly(new Set(['b']));
    expect(memory.toRecord()).toEqual({ b: { startup: 'failure' } });
  });

  test('holds each probe’s last result that is one, over a restart too', () => {
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
