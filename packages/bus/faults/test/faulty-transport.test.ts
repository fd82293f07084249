import { describe, expect, test } from '@jest/globals';
import { HEADER, Publisher, type Transport, type WireMessage } from '@kubus/bus';
import type { FaultRule } from '@kubus/contracts';
import type { Clock } from '@kubus/ports';
import fc from 'fast-check';
import { type Disturbance, FaultyTransport, disordered } from '../src/index.ts';
import { active, seededFractions } from './faults.ts';

/** A clock that only the test moves. */
class ManualClock implements Clock {
  #now = 0;
  #timers: { at: number; action: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): () => void {
    const timer = { at: this.#now + ms, action };
    this.#timers.push(timer);
    return () => (this.#timers = this.#timers.filter((one) => one !== timer));
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((one) => one !== next);
      this.#now = next.at;
      next.action();
    }
    this.#now = end;
  }
}

/** A transport under test, with both of its ends. */
class Ends {
  readonly clock = new ManualClock();
  readonly sent: string[] = [];
  readonly stored: string[] = [];
  readonly disturbed: Disturbance[] = [];
  readonly errors: unknown[] = [];
  readonly faulty: FaultyTransport;
  listener: ((message: WireMessage) => void) | undefined;
  facts: { message(message: WireMessage): void; present(): void } | undefined;
  throws = false;

  constructor(seed = 1) {
    const inner: Transport = {
      connected: true,
      onConnection: () => () => undefined,
      publish: ({ data }) => {
        if (this.throws) throw new Error('too large');
        this.sent.push(data);
      },
      subscribe: (_pattern, listener) => {
        this.listener = listener;
        return () => undefined;
      },
      storeFact: (_key, { data }) => {
        this.stored.push(data);
        return Promise.resolve();
      },
      watchFacts: (_pattern, listener) => {
        this.facts = listener;
        return () => undefined;
      },
    };
    this.faulty = new FaultyTransport({
      transport: inner,
      node: 'n',
      instance: 'sync-loop-0',
      clock: this.clock,
      random: seededFractions(seed),
      onDisturbed: (disturbance) => this.disturbed.push(disturbance),
      onError: (error) => this.errors.push(error),
    });
  }

  rule(what: FaultRule['what'], more: Partial<FaultRule> = {}): void {
    this.faulty.set(active({ what, ...more }));
  }
}

function wire(data: string, subject = 'kubus.n.worker.event.recorded.u'): WireMessage {
  return { subject, headers: { [HEADER.source]: 'cri-bridge-0' }, data };
}

const names = (count: number) => Array.from({ length: count }, (_, at) => String(at));

describe('sent messages', () => {
  test('are passed on at once without a rule, and nothing is reported', () => {
    const ends = new Ends();
    for (const name of names(3)) ends.faulty.publish(wire(name));
    expect(ends.sent).toEqual(['0', '1', '2']);
    expect(ends.disturbed).toEqual([]);
  });

  test('are dropped with a report of the rule, the subject and the message', async () => {
    const ends = new Ends();
    ends.rule({ kind: 'drop' }, { when: { nth: [2] } });
    const publisher = new Publisher({
      publisherId: { instance: 'sync-loop-0', epoch: 3, node: 'n' },
      clock: ends.clock,
      ids: { hex: (bytes) => 'ab'.repeat(bytes), fraction: () => 0 },
    });
    for (const name of names(3)) {
      const { headers } = publisher.stamp('sync.fact.wake/1', { pod: 'u' });
      await ends.faulty.storeFact('sync.fact.wake.u', { data: name, headers });
    }
    expect(ends.stored).toEqual(['0', '2']);
    expect(ends.disturbed).toEqual([
      { rule: 'rule', what: 'drop', subject: 'sync.fact.wake.u', message: 'sync-loop-0.3.2', pod: 'u', side: 'sender' },
    ]);
  });

  test('are duplicated as often as specified', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 }), (times, count) => {
        const ends = new Ends();
        ends.rule({ kind: 'duplicate', times });
        for (const name of names(count)) ends.faulty.publish(wire(name));
        expect(ends.sent).toEqual(names(count).flatMap((name) => Array.from({ length: times + 1 }, () => name)));
      }),
    );
  });

  test('are delayed in the order of their subject, whatever the jitter, together with later ones', () => {
    fc.assert(
      fc.property(fc.nat(500), fc.nat(500), fc.integer({ min: 1 }), (ms, jitterMs, seed) => {
        const ends = new Ends(seed);
        ends.rule({ kind: 'delay', ms, jitterMs }, { match: { subject: 'worker.>' }, when: { everyNth: 2 } });
        for (const name of names(10)) {
          ends.faulty.publish(wire(name));
          ends.clock.advance(20);
        }
        ends.clock.advance(ms + jitterMs);
        expect(ends.sent).toEqual(names(10));
      }),
    );
  });

  test('are delayed for the specified time, without affecting other subjects', () => {
    const ends = new Ends();
    ends.rule({ kind: 'delay', ms: 500 }, { match: { subject: 'worker.event.*.u' } });
    ends.faulty.publish(wire('late'));
    ends.faulty.publish(wire('other', 'kubus.n.worker.event.recorded.v'));
    ends.clock.advance(499);
    expect(ends.sent).toEqual(['other']);
    ends.clock.advance(1);
    expect(ends.sent).toEqual(['other', 'late']);
  });

  test('are reordered and delivered once each, at the latest after the waiting time', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 12 }),
        fc.nat(40),
        fc.boolean(),
        fc.integer({ min: 1 }),
        (window, count, delayed, seed) => {
          const ends = new Ends(seed);
          ends.rule({ kind: 'reorder', window, holdMs: 300 });
          if (delayed) ends.rule({ kind: 'delay', ms: 50 }, { id: 'slow' });
          for (const name of names(count)) ends.faulty.publish(wire(name));
          ends.clock.advance(300 + 50);
          expect(ends.sent.toSorted()).toEqual(names(count).toSorted());
          if (count >= window) expect(ends.sent).not.toEqual(names(count));
        },
      ),
    );
  });

  test('are passed on when the rule they wait for is removed, and all of them when everything ends', () => {
    const ends = new Ends();
    ends.rule({ kind: 'reorder', window: 9 });
    ends.faulty.publish(wire('a'));
    ends.faulty.remove('rule');
    expect(ends.sent).toEqual(['a']);
    ends.rule({ kind: 'delay', ms: 1000 });
    ends.faulty.publish(wire('b'));
    ends.faulty.end();
    expect(ends.sent).toEqual(['a', 'b']);
    ends.clock.advance(2000);
    expect(ends.sent).toEqual(['a', 'b']);
  });

  test('are not changed by a rule whose time is over', () => {
    const ends = new Ends();
    ends.faulty.set({ ...active({ what: { kind: 'drop' } }), until: 100 });
    ends.faulty.publish(wire('a'));
    ends.clock.advance(100);
    ends.faulty.publish(wire('b'));
    expect(ends.sent).toEqual(['b']);
  });

  test('are counted further by a rule that is published again', () => {
    const ends = new Ends();
    for (const name of names(4)) {
      ends.rule({ kind: 'drop' }, { when: { nth: [3] } });
      ends.faulty.publish(wire(name));
    }
    expect(ends.sent).toEqual(['0', '1', '3']);
  });

  test('that cannot be sent throw to the caller at once, and are reported elsewhere when they were delayed', () => {
    const ends = new Ends();
    ends.throws = true;
    expect(() => ends.faulty.publish(wire('a'))).toThrow('too large');
    ends.rule({ kind: 'delay', ms: 5 });
    ends.faulty.publish(wire('b'));
    ends.clock.advance(5);
    expect(ends.errors).toEqual([new Error('too large')]);
  });
});

describe('received messages', () => {
  const reader = { match: { subject: '>', reader: 'sync-loop' } };

  test('are changed by a rule with a reader, which does not change sent ones', () => {
    const ends = new Ends();
    const heard: string[] = [];
    ends.faulty.subscribe('>', ({ data }) => heard.push(data));
    ends.rule({ kind: 'drop' }, reader);
    ends.listener?.(wire('in'));
    ends.faulty.publish(wire('out'));
    expect([heard, ends.sent]).toEqual([[], ['out']]);
    expect(ends.disturbed).toMatchObject([{ side: 'reader', subject: 'worker.event.recorded.u' }]);
  });

  test('from the store are present only when delayed ones have arrived', () => {
    const ends = new Ends();
    const heard: string[] = [];
    ends.faulty.watchFacts('>', { message: ({ data }) => heard.push(data), present: () => heard.push('present') });
    ends.rule({ kind: 'delay', ms: 500 }, reader);
    ends.facts?.message(wire('stored'));
    ends.facts?.present();
    ends.clock.advance(300);
    ends.facts?.message(wire('change'));
    expect(heard).toEqual([]);
    ends.clock.advance(200);
    expect(heard).toEqual(['stored', 'present']);
    ends.clock.advance(300);
    expect(heard).toEqual(['stored', 'present', 'change']);
  });

  test('that were delayed do not reach a listener that has stopped', () => {
    const ends = new Ends();
    const heard: string[] = [];
    const end = ends.faulty.subscribe('>', ({ data }) => heard.push(data));
    ends.rule({ kind: 'delay', ms: 500 }, reader);
    ends.listener?.(wire('late'));
    end();
    ends.clock.advance(1000);
    expect(heard).toEqual([]);
  });
});

test('disordered keeps every item, and never the order of two or more', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer()), fc.integer({ min: 1 }), (items, seed) => {
      const drawn = disordered(items, seededFractions(seed));
      expect(drawn.toSorted()).toEqual(items.toSorted());
      if (items.length > 1) expect(drawn).not.toEqual(items);
    }),
  );
});
