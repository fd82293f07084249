import { expect, test } from '@jest/globals';
import { summarise } from './summary.ts';

type Recorded = Parameters<typeof summarise>[0];

/** Of a message only its headers and payload are looked at. */
function recorded(payload: unknown, headers: Record<string, string> = {}): Recorded {
  const data = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const cause = { id: 'x.1.1', traceId: '', spanId: '' };
  const envelope = { type: 'x/1', source: 'x-0', epoch: 1, seq: 1, time: '', node: 'n', pod: undefined };
  return {
    message: { subject: 's', headers, data },
    envelope: { ...envelope, causes: [], heard: undefined, cause },
    at: 0,
  };
}

test.each<[unknown, Record<string, string>, string]>([
  [{ operation: 'ADD', pod: {} }, {}, 'ADD'],
  [{ status: { phase: 'Running' } }, {}, 'Running'],
  [{ message: 'text', reason: 'Pulled', type: 'Normal' }, {}, 'Pulled text'],
  [
    { plugin: 'bridge', command: 'ADD', durationMs: 12.345, ips: ['10.0.0.2', 'fd00::2'] },
    {},
    'ADD bridge 10.0.0.2,fd00::2 12.3',
  ],
  [{ error: { code: 'NotFound', message: 'gone' } }, { 'Kubus-Status': 'failed' }, 'failed NotFound gone'],
  [{ ready: false }, {}, 'false'],
  [{ operation: 'a', work: 'b', state: 'c', what: 'd', reason: 'e' }, {}, 'a b c d'],
  [{ other: 1 }, {}, ''],
  ['', { 'Kubus-Removed': 'true' }, 'removed'],
  ['', { 'Kubus-Status': 'accepted' }, 'accepted'],
  ['no json', {}, ''],
  [{ message: 'x'.repeat(200) }, {}, `${'x'.repeat(97)}...`],
])('%j with %j is summed up as %j', (payload, headers, text) => {
  expect(summarise(recorded(payload, headers))).toBe(text);
});
