import { expect, test } from '@jest/globals';
import { briefOf, payloadOf, serviceOf, summarise } from '../src/index.ts';
import { Story } from './story.ts';

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
])('%j with %j is summarized as %j', (payload, headers, text) => {
  const data = typeof payload === 'string' ? payload : JSON.stringify(payload);
  expect(summarise({ headers }, payloadOf({ data }))).toBe(text);
});

test.each([
  ['pod-workers-0', 'pod-workers'],
  ['node-api-0', 'node-api'],
  ['cli-12-ab34', 'cli'],
  ['launcher-0', 'launcher'],
  ['my-prober-3', 'my-prober'],
  ['pod-workers-0-journal', 'pod-workers'],
  ['my-prober-3-faults', 'my-prober'],
])('instance %s belongs to service %s', (instance, service) => {
  expect(serviceOf(instance)).toBe(service);
});

test('a brief has the headers of a message and its size in UTF-8', () => {
  const story = new Story();
  const cause = story.say('cri-bridge-0', 10, [], {
    type: 'runtime.reply.read/1',
    pod: 'u1',
    payload: { text: 'é€😀' },
    headers: { 'Kubus-Status': 'done' },
  });
  expect(story.find(cause)).toMatchObject({
    ...{ seq: 1, id: 'cri-bridge-0.1.1', type: 'runtime.cmd.read/1', kind: 'reply', service: 'cri-bridge', at: 10 },
    ...{ pod: 'u1', causes: [], summary: 'done', bytes: new TextEncoder().encode('{"text":"é€😀"}').length },
  });
  expect(briefOf({ seq: 1, stored: 0, message: { subject: 's', headers: {}, data: '' } })).toBeUndefined();
});

test('values that an instance publishes beyond the fields of its service are shown under the instance', () => {
  const story = new Story();
  const part = story.say('prober-0-journal', 10, [], { type: 'service.event.journal/1' });
  expect(story.find(part)).toMatchObject({ id: 'prober-0-journal.1.1', source: 'prober-0', service: 'prober' });
});
