import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { type PressureReport, readPressure } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import { nodePressureReader } from '../src/node-pressure.ts';

const readAt = '2030-01-01T00:00:00.000Z';
const report: PressureReport = {
  signals: [{ signal: 'pid.available', available: 900, capacity: 1000, readAt }],
  thresholds: [{ signal: 'pid.available', value: '10%', amount: 100, graceSeconds: 0 }],
  readings: [{ readAt, available: { 'pid.available': 900 } }],
  ...{ conditions: [], transitionSeconds: 300 },
};

function node(answer: () => Promise<PressureReport>) {
  const clock = new ManualClock(0);
  const broker = new LocalBroker('node0');
  const asked: object[] = [];
  broker.join('node-agent', clock).bus.serve(readPressure, ({ request }) => {
    asked.push(request);
    return answer();
  });
  return { clock, asked, read: nodePressureReader(broker.join('observatory', clock).bus, clock) };
}

test('node-agent is asked for the signal and the last readings, and the answer is for people', async () => {
  const { asked, read } = node(() => Promise.resolve(report));
  expect(await read('pid.available')).toEqual({
    ...{ conditions: [], transitionSeconds: 300 },
    signals: [
      {
        ...{ signal: 'pid.available', available: '900', capacity: '1000' },
        thresholds: [{ value: '10% (100)', part: 0.1, graceSeconds: 0 }],
        curve: [{ at: Date.parse(readAt), part: 0.9 }],
      },
    ],
  });
  expect(asked).toEqual([{ signal: 'pid.available', readings: true }]);
});

test('a signal that there is none of is a conflict, and no answer an error after 20 s', async () => {
  const refusing = node(() => Promise.reject(new KubusError('unknown-signal', 'x is no signal')));
  await expect(refusing.read('x')).rejects.toMatchObject({ status: 409, code: 'unknown-signal' });
  const silent = node(() => new Promise(() => undefined));
  const failed = expect(silent.read(undefined)).rejects.toMatchObject({ status: 503, code: 'no-answer' });
  await settled();
  await silent.clock.advance(20_000);
  await failed;
});
