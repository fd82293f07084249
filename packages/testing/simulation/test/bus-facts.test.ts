import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Weather, calm } from '../src/index.ts';
import { color, world } from './bus-fixture.ts';

function reader(w: ReturnType<typeof world>) {
  const { bus, connection } = w.join('pod-workers');
  const seen: string[] = [];
  const facts = bus.reader(color, {
    changed: ({ key, value }) => seen.push(`${key}=${value}`),
    removed: ({ key }) => seen.push(`${key} gone`),
    complete: (instance, epoch) => seen.push(`complete ${instance} ${epoch}`),
  });
  const now = () => {
    const entries = [...facts].map(({ key, value }): [string, string] => [key, value]);
    return Object.fromEntries<string>(entries.sort());
  };
  return { facts, seen, now, connection };
}

describe('facts', () => {
  test('a late reader receives the current values, then changes and removals', async () => {
    const w = world();
    const owner = w.join('config-sources').bus.owner(color);
    owner.put('sky', 'grey');
    owner.put('sky', 'blue');
    owner.complete();
    await w.quiet();
    const { seen } = reader(w);
    await w.until(() => seen.includes('complete config-sources-0 1'));
    expect(seen).toEqual(['sky=blue', 'complete config-sources-0 1']);
    owner.put('grass', 'green');
    owner.remove('sky');
    await w.quiet();
    expect(seen.slice(2)).toEqual(['grass=green', 'sky gone']);
  });

  test('facts of an earlier epoch are removed by the complete set of a later one, for current and later readers', async () => {
    const w = world();
    const first = w.join('config-sources', 1);
    const owner = first.bus.owner(color);
    owner.put('old', 'rust');
    owner.put('kept', 'white');
    owner.complete();
    const early = reader(w);
    await w.until(() => early.facts.completed('config-sources-0') === 1);
    first.connection.kill();

    const second = w.join('config-sources', 2).bus.owner(color);
    second.put('kept', 'white');
    await w.quiet();
    expect(early.now()).toEqual({ kept: 'white', old: 'rust' });
    second.complete();
    await w.until(() => early.facts.completed('config-sources-0') === 2);
    expect(early.now()).toEqual({ kept: 'white' });
    const late = reader(w);
    await w.until(() => late.facts.completed('config-sources-0') === 2);
    expect(late.now()).toEqual({ kept: 'white' });
    expect(late.seen).not.toContain('old=rust');
  });

  test('a broker that restarts empty is filled again, and no reader takes a missing key for a deletion', async () => {
    const w = world();
    const owner = w.join('config-sources').bus.owner(color);
    owner.put('sky', 'blue');
    owner.complete();
    const early = reader(w);
    await w.until(() => early.facts.completed('config-sources-0') === 1);
    w.broker.crash();
    owner.put('sea', 'green');
    await w.quiet();
    w.broker.start();
    await w.quiet();
    expect(early.now()).toEqual({ sea: 'green', sky: 'blue' });
    expect(early.seen.filter((line) => line.endsWith('gone'))).toEqual([]);
    const late = reader(w);
    await w.until(() => late.facts.completed('config-sources-0') === 1);
    expect(late.now()).toEqual({ sea: 'green', sky: 'blue' });
  });

  test('a key removed during an outage is removed for later readers too', async () => {
    const w = world();
    const { bus, connection } = w.join('config-sources');
    const owner = bus.owner(color);
    owner.put('sky', 'blue');
    owner.complete();
    await w.quiet();
    w.broker.glitch(connection);
    owner.remove('sky');
    await w.quiet();
    const late = reader(w);
    await w.until(() => late.facts.completed('config-sources-0') === 1);
    expect(late.now()).toEqual({});
  });

  test('a set is complete for a reader only when it holds every key of the mark', async () => {
    const w = world();
    const owner = w.join('config-sources').bus.owner(color);
    const { seen, facts } = reader(w);
    await w.quiet();
    const slow: Weather = {
      ...calm(),
      fact: (key, to) => (to === 'pod-workers-0' && key.endsWith('.slow') ? 3_000 : 1),
    };
    w.broker.weather = slow;
    owner.put('slow', 'brown');
    owner.complete();
    await w.quiet(2_000);
    expect(facts.completed('config-sources-0')).toBeUndefined();
    await w.quiet();
    expect(seen).toEqual(['slow=brown', 'complete config-sources-0 1']);
  });

  test('what a set does not list is removed also while a key that it lists is missing', async () => {
    const w = world();
    const first = w.join('config-sources', 1);
    first.bus.owner(color).put('old', 'rust');
    const early = reader(w);
    await w.until(() => early.now()['old'] === 'rust');
    first.connection.kill();
    // Nothing in the store tells the next owner of it.
    w.broker.crash();
    w.broker.start();
    w.broker.weather = {
      ...calm(),
      fact: (key, to) => (to === 'pod-workers-0' && key.endsWith('.lost') ? 120_000 : 1),
    };
    const second = w.join('config-sources', 2).bus.owner(color);
    second.put('lost', 'brown');
    second.complete();
    await w.quiet(1_000);
    expect(early.now()).toEqual({});
    expect(early.facts.completed('config-sources-0')).toBeUndefined();
  });

  test('an invalid value is refused, and the other values are delivered', async () => {
    const w = world();
    const writer = w.join('config-sources');
    const owner = writer.bus.owner(color);
    const { bus } = w.join('pod-workers');
    const seen: string[] = [];
    bus.reader(color, { changed: ({ value }) => seen.push(value) });
    const kept: string[] = [];
    w.broker.observe((message) => {
      if (message.subject.includes('.refused.')) kept.push(message.data);
    });
    owner.put('bad', 7 as unknown as string);
    owner.put('good', 'gold');
    await w.quiet();
    expect(seen).toEqual(['gold']);
    expect(bus.refused).toBe(1);
    expect(kept).toHaveLength(1);
    expect(JSON.parse(kept[0] ?? '')).toMatchObject({ subject: 'kubus.n.config.fact.color.bad', payload: '7' });
  });

  test('readers end with exactly the set of the last epoch under any delays, restarts and losses of the store', async () => {
    const action = fc.oneof(
      { weight: 6, arbitrary: fc.record({ put: fc.constantFrom('a', 'b', 'c'), value: fc.string() }) },
      { weight: 3, arbitrary: fc.record({ remove: fc.constantFrom('a', 'b', 'c') }) },
      fc.constantFrom('restart' as const, 'crash' as const, 'glitch-writer' as const, 'glitch-reader' as const),
      fc.record({ wait: fc.integer({ min: 0, max: 50 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.array(action, { maxLength: 25 }), async (seed, actions) => {
        const w = world(seed);
        w.broker.weather = { ...calm(), fact: () => w.random.between(0, 30) };
        let epoch = 1;
        let writer = w.join('config-sources', epoch);
        let owner = writer.bus.owner(color);
        owner.complete();
        let expected = new Map<string, string>();
        const { now, facts, connection } = reader(w);
        for (const step of actions) {
          if (step === 'crash') {
            w.broker.crash();
            await w.quiet(20);
            w.broker.start();
          } else if (step === 'glitch-writer') w.broker.glitch(writer.connection);
          else if (step === 'glitch-reader') w.broker.glitch(connection);
          else if (step === 'restart') {
            writer.connection.kill();
            writer = w.join('config-sources', ++epoch);
            owner = writer.bus.owner(color);
            // The new life knows some of the old keys only.
            expected = new Map([...expected].filter(([key]) => key !== 'b'));
            for (const [key, value] of expected) owner.put(key, value);
            owner.complete();
          } else if ('put' in step) {
            owner.put(step.put, step.value);
            expected.set(step.put, step.value);
          } else if ('remove' in step) {
            owner.remove(step.remove);
            expected.delete(step.remove);
          } else await w.quiet(step.wait);
        }
        await w.quiet(20_000);
        expect(facts.completed('config-sources-0')).toBe(epoch);
        expect(now()).toEqual(Object.fromEntries([...expected].sort()));
        const late = reader(w);
        await w.quiet(20_000);
        expect(late.now()).toEqual(now());
      }),
      { numRuns: 300 },
    );
  });
});
