import { describe, expect, test } from '@jest/globals';
import { type ActiveFault, type FaultRule, faultRuleSchema } from '@kubus/contracts';
import fc from 'fast-check';
import { type Counters, type Fate, type PassingMessage, decide } from '../src/index.ts';
import { active, seededFractions } from './faults.ts';

const message: PassingMessage = {
  subject: 'runtime.fact.pod.uid-1',
  source: 'cri-bridge-0',
  pod: 'uid-1',
  reader: undefined,
};
const never = () => {
  throw new Error('no random number is expected');
};

/** The fates of a number of messages, one after the other. */
function fates(rules: readonly ActiveFault[], count: number, random: () => number = never): Fate[] {
  let counters: Counters = new Map();
  return Array.from({ length: count }, () => {
    const fate = decide(rules, message, counters, random, 1);
    counters = fate.counters;
    return fate;
  });
}

const untouched = { dropped: false, copies: 1, delayMs: 0, reordering: undefined, applied: [] };

describe('a rule matches messages', () => {
  test.each<[string, FaultRule['match'], Partial<PassingMessage>, boolean]>([
    ['by subject', { subject: 'runtime.fact.pod.uid-1' }, {}, true],
    ['a wildcard', { subject: 'runtime.*.pod.*' }, {}, true],
    ['by a subject prefix', { subject: 'runtime.>' }, {}, true],
    ['not with another subject', { subject: 'runtime.fact.condition.*' }, {}, false],
    ['not by a part of the subject', { subject: 'runtime.fact' }, {}, false],
    ['by pod', { subject: '>', pod: 'uid-1' }, {}, true],
    ['not of another pod', { subject: '>', pod: 'uid-2' }, {}, false],
    ['by source service', { subject: '>', source: 'cri-bridge' }, {}, true],
    ['by source instance', { subject: '>', source: 'cri-bridge-0' }, {}, true],
    ['not of another instance', { subject: '>', source: 'cri-bridge-1' }, {}, false],
    ['by kind', { subject: '>', kind: 'fact' }, {}, true],
    ['not of another kind', { subject: '>', kind: 'event' }, {}, false],
    ['a reply', { subject: '>', kind: 'reply' }, { subject: 'reply.pod-workers.pod-workers-0.uid-1' }, true],
    ['not at receivers, without a reader', { subject: '>' }, { reader: 'sync-loop-0' }, false],
    ['not at the publisher, with a reader', { subject: '>', reader: 'sync-loop' }, {}, false],
    ['by reader', { subject: '>', reader: 'sync-loop' }, { reader: 'sync-loop-0' }, true],
    ['not at another reader', { subject: '>', reader: 'sync-loop' }, { reader: 'pod-workers-0' }, false],
    ['not about faults', { subject: '>' }, { subject: 'fault.event.faulted.cri-bridge-0' }, false],
    [
      'not with the rules themselves',
      { subject: '>', reader: 'prober' },
      { subject: 'fault.fact.rule.a', reader: 'prober-0' },
      false,
    ],
    ['a journal', { subject: '>' }, { subject: 'service.event.journal.cri-bridge-0' }, false],
    ['not that announce an instance', { subject: '>' }, { subject: 'service.fact.instance.cri-bridge-0' }, false],
    [
      'not that complete the announcements',
      { subject: '>' },
      { subject: 'service.fact.instance.=complete.cri-bridge-0' },
      false,
    ],
  ])('%s', (_what, match, changes, meets) => {
    const { dropped } = decide(
      [active({ match, what: { kind: 'drop' } })],
      { ...message, ...changes },
      new Map(),
      never,
      1,
    );
    expect(dropped).toBe(meets);
  });

  test('only while it is active', () => {
    const rule = { ...active({ what: { kind: 'drop' } }), since: 10, until: 20 };
    const at = (now: number) => decide([rule], message, new Map(), never, now).dropped;
    expect([9, 10, 19, 20].map(at)).toEqual([false, true, true, false]);
  });
});

describe('the fate of messages', () => {
  test('is normal for a message that no rule matches, and no rule counts it', () => {
    const other = active({ match: { subject: 'probe.>' }, what: { kind: 'drop' } });
    expect(decide([], message, new Map(), never, 1)).toEqual({ ...untouched, counters: new Map() });
    expect(decide([other], message, new Map([['rule', 3]]), never, 1)).toEqual({
      ...untouched,
      counters: new Map([['rule', 3]]),
    });
  });

  test('is changed for exactly the n-th messages', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), (nth) => {
        const all = fates([active({ what: { kind: 'drop' }, when: { nth } })], 60);
        const dropped = all.flatMap((fate, at) => (fate.dropped ? [at + 1] : []));
        expect(dropped).toEqual(nth.toSorted((a, b) => a - b));
      }),
    );
  });

  test('is changed for every n-th message', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), (everyNth) => {
        const all = fates([active({ what: { kind: 'drop' }, when: { everyNth } })], 60);
        expect(all.map(({ dropped }) => dropped)).toEqual(all.map((_, at) => (at + 1) % everyNth === 0));
      }),
    );
  });

  test('is changed as often as the probability says', () => {
    const count = 4_000;
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 32 - 1 }),
        fc.double({ min: 0.05, max: 1, noNaN: true }),
        (seed, probability) => {
          const rule = active({ what: { kind: 'drop' }, when: { probability } });
          const met = fates([rule], count, seededFractions(seed)).filter(({ dropped }) => dropped).length;
          // Eight standard deviations.
          const room = 8 * Math.sqrt(count * probability * (1 - probability));
          expect(Math.abs(met - count * probability)).toBeLessThanOrEqual(room + 1);
        },
      ),
      { numRuns: 50 },
    );
  });

  test('is normal for a message that meets all conditions but one', () => {
    const when = { nth: [2, 4], everyNth: 4, probability: 0.5 };
    const drawn = (value: number) =>
      fates([active({ what: { kind: 'drop' }, when })], 4, () => value).map(({ dropped }) => dropped);
    expect(drawn(0.4)).toEqual([false, false, false, true]);
    expect(drawn(0.6)).toEqual([false, false, false, false]);
  });

  test('adds up delays and copies of several rules, with jitter within its bound', () => {
    fc.assert(
      fc.property(
        fc.nat(1000),
        fc.nat(1000),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1 }),
        (ms, jitterMs, times, seed) => {
          const rules = [
            active({ id: 'a', what: { kind: 'delay', ms, jitterMs } }),
            active({ id: 'b', what: { kind: 'duplicate', times } }),
            active({ id: 'c', what: { kind: 'delay', ms: 7 } }),
            active({ id: 'd', what: { kind: 'duplicate' } }),
          ];
          const [fate] = fates(rules, 1, seededFractions(seed));
          expect(fate).toMatchObject({ dropped: false, copies: 2 + times });
          expect(fate?.delayMs).toBeGreaterThanOrEqual(ms + 7);
          expect(fate?.delayMs).toBeLessThanOrEqual(ms + jitterMs + 7);
          expect(fate?.applied.map(({ rule }) => rule)).toEqual(['a', 'b', 'c', 'd']);
        },
      ),
    );
  });

  test('is not changed by a rule after one that drops the message', () => {
    const rules = [
      active({ id: 'a', what: { kind: 'drop' }, when: { nth: [1] } }),
      active({ id: 'b', what: { kind: 'drop' } }),
    ];
    expect(fates(rules, 2).map(({ applied }) => applied.map(({ rule }) => rule))).toEqual([['a'], ['b']]);
    expect(fates(rules, 2).at(-1)?.counters).toEqual(
      new Map([
        ['a', 2],
        ['b', 1],
      ]),
    );
  });
});

describe('an invalid rule is refused with its field and the reason', () => {
  const good = { id: 'slow', match: { subject: 'runtime.fact.pod.*' }, what: { kind: 'delay', ms: 500 } };
  const errors = (rule: object) =>
    faultRuleSchema.safeParse(rule).error?.issues.map(({ path, message: text }) => `${path.join('.')}: ${text}`) ?? [];

  test('unlike a valid one', () => {
    expect(errors(good)).toEqual([]);
  });

  test.each<[object, RegExp]>([
    [{ id: 'Not a name' }, /^id: "Not a name" is not a valid name: lower case letters/],
    [{ match: { subject: 'a..b' } }, /^match\.subject: "a\.\.b" is not a subject pattern/],
    [{ match: { subject: 'a.>.b' } }, /^match\.subject: .* not a subject pattern/],
    [{ match: { subject: 'a*.b' } }, /^match\.subject: .* not a subject pattern/],
    [{ match: { subject: 'kubus.node0.runtime.>' } }, /^match\.subject: must be relative to kubus\.<node>\./],
    [{ match: { subject: '>', reader: 'nobody' } }, /^match\.reader: "nobody" is neither a service nor an instance/],
    [{ match: { subject: '>', reader: 'launcher' } }, /^match\.reader: cannot be disturbed/],
    [{ match: { subject: '>', source: 'cli' } }, /^match\.source: .* name a reader/],
    [{ what: { kind: 'explode' } }, /^what\.kind: /],
    [{ what: { kind: 'delay', ms: -1 } }, /^what\.ms: /],
    [{ what: { kind: 'reorder', window: 1 } }, /^what\.window: /],
    [{ when: { probability: 1.5 } }, /^when\.probability: /],
    [{ when: { nth: [0] } }, /^when\.nth\.0: /],
    [{ when: { sometimes: true } }, /^when: .*sometimes/],
  ])('%j', (changes, expected) => {
    expect(errors({ ...good, ...changes })).toEqual([expect.stringMatching(expected)]);
  });
});
