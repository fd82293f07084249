import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { emptyStaticOrder, leaveStaticOrder, mayStartStatic } from '../src/index.ts';

describe('static pods of one name', () => {
  test('start one after another, in the order in which they asked', () => {
    let order = emptyStaticOrder;
    const ask = (uid: string) => {
      const asked = mayStartStatic(order, 'web_default', uid);
      order = asked.order;
      return asked.allowed;
    };
    expect([ask('a'), ask('b'), ask('c'), ask('a')]).toEqual([true, false, false, true]);
    order = leaveStaticOrder(order, 'web_default', 'a');
    expect([ask('c'), ask('b'), ask('c')]).toEqual([false, true, false]);
  });

  test('one that is ended while it waits holds up nobody', () => {
    let { order } = mayStartStatic(emptyStaticOrder, 'web_default', 'a');
    order = mayStartStatic(order, 'web_default', 'b').order;
    order = mayStartStatic(order, 'web_default', 'c').order;
    order = leaveStaticOrder(leaveStaticOrder(order, 'web_default', 'b'), 'web_default', 'a');
    expect(mayStartStatic(order, 'web_default', 'c').allowed).toBe(true);
  });

  test('never run two at once, and leave nothing behind', () => {
    const step = fc.record({ uid: fc.constantFrom('a', 'b', 'c'), leaves: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let order = emptyStaticOrder;
        const running = new Set<string>();
        for (const { uid, leaves } of steps) {
          if (leaves) {
            order = leaveStaticOrder(order, 'n', uid);
            running.delete(uid);
          } else {
            const asked = mayStartStatic(order, 'n', uid);
            order = asked.order;
            if (asked.allowed) running.add(uid);
          }
          expect(running.size).toBeLessThanOrEqual(1);
        }
        for (const uid of ['a', 'b', 'c']) order = leaveStaticOrder(order, 'n', uid);
        expect(order).toEqual(emptyStaticOrder);
        expect(mayStartStatic(order, 'n', 'a').allowed).toBe(true);
      }),
    );
  });
});
