import { describe, expect, test } from '@jest/globals';
import { silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import fc from 'fast-check';
import type { KubeError } from '../src/kube-error.ts';
import { Reflector } from '../src/reflector.ts';
import { type Fault, type ModelObject, ModelServer } from './model-server.ts';

const MINUTE = 60_000;

/** A reflector on a model, and the view of its user. */
function follow(seed = 0.5) {
  const clock = new ManualClock();
  const server = new ModelServer(clock);
  const view = new Map<string, string>();
  const reported: string[] = [];
  const errors: KubeError[] = [];
  /** Versions that `changed` must not report (again). */
  const known = new Set<string>();
  /** An error thrown by a listener would be one more fault for the reflector. */
  const wrong: string[] = [];
  let random = seed;
  const reflector = new Reflector<ModelObject>({
    client: server,
    path: '/api/v1/things',
    parse: (object) => {
      const { metadata } = object as ModelObject;
      if (metadata.name === 'unreadable') throw new Error('means nothing');
      return { metadata };
    },
    clock,
    logger: silentLogger,
    random: () => (random = (random * 997 + 0.123) % 1),
    listener: {
      replaced: (objects) => {
        view.clear();
        for (const { metadata } of objects) {
          view.set(metadata.name, metadata.resourceVersion);
          known.add(`${metadata.name} ${metadata.resourceVersion}`);
        }
        reported.push(`= ${[...view.keys()].join(' ')}`);
      },
      changed: ({ metadata: { name, resourceVersion } }) => {
        if (known.has(`${name} ${resourceVersion}`)) wrong.push(`${name} reported twice`);
        if (Number(resourceVersion) <= Number(view.get(name) ?? 0)) wrong.push(`${name} went back`);
        known.add(`${name} ${resourceVersion}`);
        view.set(name, resourceVersion);
        reported.push(`+ ${name}`);
      },
      removed: ({ metadata: { name } }) => {
        if (!view.delete(name)) wrong.push(`${name} removed twice`);
        reported.push(`- ${name}`);
      },
      failed: (error) => errors.push(error),
    },
  });
  const truth = () => new Map([...server.objects].map(([name, { metadata }]) => [name, metadata.resourceVersion]));
  return { clock, server, reflector, view, reported, errors, wrong, truth };
}

describe('a reflector', () => {
  test('lists in pages, then reports each change', async () => {
    const { clock, server, reflector, reported } = follow();
    for (const name of ['a', 'b', 'c']) server.put(name);
    reflector.start();
    await clock.advance(0);
    server.put('d');
    server.put('a');
    server.delete('b');
    expect(reported).toEqual(['= a b c', '+ d', '+ a', '- b']);
    expect([server.lists, server.watches]).toEqual([2, 1]);
    reflector.stop();
    server.put('e');
    await clock.advance(MINUTE);
    expect(reported).toHaveLength(4);
    expect(clock.waits).toEqual([]);
  });

  test('continues without a list when a watch ends, breaks or is silent', async () => {
    const { clock, server, reflector, reported } = follow();
    reflector.start();
    await clock.advance(10 * MINUTE);
    expect(server.watches).toBeGreaterThan(1);
    for (const how of ['end', 'break', 'stall'] as const) {
      server.put('a');
      server.disturb(how);
      server.put('b');
      await clock.advance(2 * MINUTE);
    }
    expect(reported).toEqual(['= ', '+ a', '+ b', '+ a', '+ b', '+ a', '+ b']);
    expect(server.lists).toBe(1);
    reflector.stop();
  });

  test.each(['forgotten', 'forgotten-event'] as const)('lists again when its version is %s', async (fault) => {
    const { clock, server, reflector, reported } = follow();
    reflector.start();
    await clock.advance(0);
    server.faults.watch.push(fault);
    server.disturb('break');
    await clock.advance(0);
    server.put('a');
    await clock.advance(4_000);
    expect(reported).toEqual(['= ', '= a']);
    reflector.stop();
  });

  test('lists in one page when the version expires between pages', async () => {
    const { clock, server, reflector, reported } = follow();
    for (const name of ['a', 'b', 'c']) server.put(name);
    const request = server.request.bind(server);
    server.request = async (asked) => {
      const answer = await request(asked);
      if (server.lists === 1) server.compact();
      return answer;
    };
    reflector.start();
    await clock.advance(0);
    expect(reported).toEqual(['= a b c']);
    expect(server.lists).toBe(3);
    reflector.stop();
  });

  test('continues after hours of outage, with few requests meanwhile', async () => {
    const { clock, server, reflector, view, errors, truth } = follow();
    server.put('a');
    reflector.start();
    await clock.advance(0);
    server.down = true;
    server.disturb('break');
    const before = server.watches;
    await clock.advance(5 * 60 * MINUTE);
    const asked = server.watches - before;
    expect(asked).toBeGreaterThan(5 * 60);
    expect(asked).toBeLessThan(5 * 60 * 4 + 10);
    expect(errors).toHaveLength(asked + 1);
    expect([...view.keys()]).toEqual(['a']);
    server.delete('a');
    server.put('b');
    server.compact();
    server.down = false;
    await clock.advance(MINUTE);
    expect(view).toEqual(truth());
    reflector.stop();
  });

  test('does not overload a server that ends every watch or expires every version', async () => {
    for (const fault of ['ends-at-once', 'forgotten-event', 'internal'] as const) {
      const { clock, server, reflector } = follow();
      server.faults.watch.push(...Array<Fault>(1_000).fill(fault));
      reflector.start();
      await clock.advance(60 * MINUTE);
      expect(server.watches).toBeLessThan(60 * 4 + 10);
      expect(server.lists).toBeLessThan(60 * 4 + 10);
      reflector.stop();
    }
  });

  test('an unreadable object does not affect others', async () => {
    const { clock, server, reflector, reported } = follow();
    for (const name of ['a', 'unreadable']) server.put(name);
    reflector.start();
    await clock.advance(0);
    for (const name of ['unreadable', 'b']) server.put(name);
    server.delete('unreadable');
    server.delete('b');
    expect(reported).toEqual(['= a', '+ b', '- b']);
    reflector.stop();
  });
});

test('the view converges to the server’s in spite of any failures, and no version is reported twice', async () => {
  const names = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const faults = fc.constantFrom<Fault>(
    'unreachable',
    'busy',
    'internal',
    'forgotten',
    'forgotten-event',
    'ends-at-once',
    'repeats',
  );
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ put: names }) },
    { weight: 2, arbitrary: fc.record({ delete: names }) },
    { weight: 2, arbitrary: fc.record({ disturb: fc.constantFrom('break', 'end', 'stall', 'forget') }) },
    { weight: 2, arbitrary: fc.record({ watchFault: faults }) },
    { weight: 1, arbitrary: fc.record({ listFault: faults }) },
    { weight: 1, arbitrary: fc.constant({ compact: true as const }) },
    { weight: 1, arbitrary: fc.record({ down: fc.boolean() }) },
    { weight: 4, arbitrary: fc.record({ pass: fc.constantFrom(0, 700, 5_000, 100_000, 700_000) }) },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.double({ min: 0, max: 0.99, noNaN: true }),
      async (steps, seed) => {
        const { clock, server, reflector, view, truth, wrong } = follow(seed);
        reflector.start();
        for (const one of steps) {
          if ('put' in one) server.put(one.put);
          else if ('delete' in one) server.delete(one.delete);
          else if ('disturb' in one) server.disturb(one.disturb);
          else if ('watchFault' in one) server.faults.watch.push(one.watchFault);
          else if ('listFault' in one) server.faults.list.push(one.listFault);
          else if ('compact' in one) server.compact();
          else if ('down' in one) server.down = one.down;
          else await clock.advance(one.pass);
        }
        server.down = false;
        server.faults.list.length = 0;
        server.faults.watch.length = 0;
        await clock.advance(2 * MINUTE);
        expect(view).toEqual(truth());
        server.put('last');
        await clock.advance(2 * MINUTE);
        expect(view).toEqual(truth());
        expect(wrong).toEqual([]);
        reflector.stop();
      },
    ),
    { numRuns: 300 },
  );
});
