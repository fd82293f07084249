import { expect, test } from '@jest/globals';
import { recordDifferences } from '../src/record-diff.ts';
import { scrub, without } from '../src/record-scrub.ts';

const scope = {
  node: 'test-1',
  namespace: 's-a',
  folders: { '<logs>': '/t/logs', '<root>': '/t/pods', '/host': '/t/host' },
  cgroupRoot: '/kubus-test-1',
};
const uid = '0d1b5e44-8f55-4d2a-9d3c-5d3f0d9a8c11';

test.each([
  [
    `Back-off restarting failed container c in pod t_s-a(${uid})`,
    'Back-off restarting failed container c in pod t_<ns>(<uuid>)',
  ],
  ['back-off 1m20s restarting', 'back-off <dur> restarting'],
  [
    'unable to start container process: error during container init: exec: "/x": stat /x: no such file or directory',
    'unable to start container process: exec: "/x": stat /x: no such file or directory: unknown',
  ],
  [
    'unable to start container process: exec: "/x": stat /x: no such file or directory: unknown',
    'unable to start container process: exec: "/x": stat /x: no such file or directory: unknown',
  ],
  [`/t/logs/s-a_t_${uid}`, '<logs>/<ns>_t_<uuid>'],
  [`/t/pods/pods/${uid}/containers/c/0000000a`, '<root>/pods/<uuid>/containers/c/<rand>'],
  ['/t/host', '/host'],
  ['/t/hosts', '/t/hosts'],
  [`/kubus-test-1/kubepods/besteffort/pod${uid}`, '/kubepods/besteffort/pod<uuid>'],
  [`sha256:${'a1'.repeat(32)}`, '<digest>'],
  ['b2'.repeat(32), '<id>'],
  ['10.88.3.4', '<podIP>'],
  ['10.123.0.1', '<hostIP>'],
  ['2026-11-20T18:21:24.828460Z', '<time>'],
  ['test-1', 'node0'],
  [
    'in 1.2s (1.4s including waiting). Image size: 12 bytes.',
    'in <dur> (<dur> including waiting). Image size: <n> bytes.',
  ],
  ['untouched', 'untouched'],
])('%s is recorded as %s', (text, recorded) => {
  expect(scrub({ text: [text] }, scope)).toEqual({ text: [recorded] });
});

test('times are replaced by placeholders', () => {
  expect(scrub({ startedAt: 'never', other: 'never' }, scope)).toEqual({ startedAt: '<time>', other: 'never' });
});

test('ignored members are removed at every depth', () => {
  expect(without({ a: 1, b: [{ a: 2, c: 3 }] }, ['a'])).toEqual({ b: [{ c: 3 }] });
});

const golden = {
  name: 'x',
  varying: ['.status.restarts'],
  record: {
    status: { phase: 'Running', ips: ['a', 'b'], restarts: 1, limits: { memory: '9' } },
    events: [['A'], ['B']],
  },
};

test('records differ only where a value, a length or an event differs', () => {
  const { status, events } = golden.record;
  const compare = (record: object) => recordDifferences(golden, record, []).map((line) => line.split('\n')[0]);
  expect(compare({ status, events: [['B'], ['A']] })).toEqual([]);
  expect(compare({ status: { ...status, restarts: 7 }, events })).toEqual([]);
  expect(compare({ status: { ...status, phase: 'Failed' }, events })).toEqual(['.status.phase']);
  expect(compare({ status: { ...status, ips: ['a'] }, events })).toEqual(['.status.ips.length', '.status.ips[1]']);
  expect(compare({ status, events: [['A'], ['C']] })).toEqual(['.events ["B"]', '.events ["C"]']);
  expect(compare({ status: { ...status, more: null }, events })).toEqual(['.status.more']);
});

test('a difference shows both values', () => {
  const record = { ...golden.record, status: { ...golden.record.status, phase: 'Failed' } };
  const [line] = recordDifferences(golden, record, []);
  expect(line).toBe('.status.phase\n    reference "Running"\n    kubus     "Failed"');
});

test('an exception applies only to its path and its value of the reference', () => {
  const { limits: _limits, ...status } = golden.record.status;
  const record = { ...golden.record, status };
  const exception = { path: '.status.limits', reason: '' };
  expect(recordDifferences(golden, record, [{ ...exception, golden: { memory: '9' } }])).toEqual([]);
  expect(recordDifferences(golden, record, [{ ...exception, golden: { memory: '8' } }])).toHaveLength(1);
});
