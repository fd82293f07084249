import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Bus } from '@kubus/bus';
import { readPressure } from '@kubus/contracts';
import { settled } from '@kubus/ports/testing';
import { asked, broker, clock, left, MI, pass, runs, watch } from './evicting-node.ts';
import { NAME } from './member.ts';

describe('the query', () => {
  let bus: Bus;

  beforeEach(() => {
    ({ bus } = broker.join('cli', clock));
  });

  const query = async (signal?: string, readings = false) => {
    const answer = bus.call(readPressure, NAME, { readings, ...(signal !== undefined && { signal }) });
    await settled();
    return (await answer).result;
  };

  test('shows signals with their slopes, thresholds with the time to them, and who would go', async () => {
    runs('small', 10);
    runs('large', 100);
    const watching = watch({ 'memory.available': '100Mi' });
    await settled();
    left.memory = 900;
    await pass(10_000);
    const report = await query();
    expect(report.signals[0]).toMatchObject({ signal: 'memory.available', available: 900 * MI, perSecond: -10 * MI });
    expect(report.thresholds).toEqual([
      { signal: 'memory.available', value: '100Mi', amount: 100 * MI, graceSeconds: 0, secondsLeft: 80 },
    ]);
    expect(report.ranking?.pods.map(({ ref, used }) => [ref.name, used])).toEqual([
      ['large', 100 * MI],
      ['small', 10 * MI],
    ]);
    expect([report.conditions, report.transitionSeconds, asked]).toEqual([[], 60, []]);
    watching.stop();
  });

  test('of a node without thresholds has the signals alone, and a ranking where one is asked for', async () => {
    runs('web', 10);
    const watching = watch({});
    expect(await query()).toMatchObject({ signals: [{ signal: 'memory.available' }, {}], thresholds: [] });
    expect(await query()).not.toHaveProperty('ranking');
    expect((await query('pid.available')).ranking?.pods.map(({ ref }) => ref.name)).toEqual(['web']);
    watching.stop();
  });

  test('has the readings where they are asked for, also of a node without thresholds', async () => {
    const watching = watch({});
    expect(await query()).not.toHaveProperty('readings');
    left.memory = 900;
    await pass(10_000);
    const { readings, signals } = await query(undefined, true);
    expect(readings?.map(({ available }) => available['memory.available'])).toEqual([1000 * MI, 900 * MI]);
    expect(signals[0]).toMatchObject({ perSecond: -10 * MI });
    watching.stop();
  });

  test('refuses a signal that there is none of', async () => {
    const watching = watch({});
    await expect(query('cpu.available')).rejects.toMatchObject({ code: 'unknown-signal' });
    watching.stop();
  });
});
