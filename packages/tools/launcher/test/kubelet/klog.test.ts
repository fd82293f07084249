import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type LogEntry, formatEntry, klogLogger, readEntry } from '../../src/kubelet/klog.ts';

const time = new Date(2026, 10, 21, 0, 41, 52, 123).getTime();
const entry: LogEntry = {
  severity: 'info',
  time,
  pid: 345,
  source: 'pod-workers',
  number: 1,
  message: 'it "runs"\nagain',
  fields: { pod: 'default/hello', count: 3, ips: ['10.0.0.1'] },
};
const from = { name: 'cri-bridge-0', pid: 7 };

describe('a log line', () => {
  test('in the klog format', () => {
    expect(formatEntry(entry, 'text')).toBe(
      String.raw`I1121 00:41:52.123000     345 pod-workers:1] "it \"runs\"\nagain" pod="default/hello" count=3 ips=["10.0.0.1"]`,
    );
  });

  test('in the klog format marks warnings and errors, and shows errors by their message', () => {
    const fields = {
      err: new Error('no "x"'),
      cause: { type: 'Error', message: 'lost', stack: 'at' },
      nothing: undefined,
    };
    expect(formatEntry({ ...entry, severity: 'error', message: 'm', fields }, 'text')).toMatch(
      /^E1121 .*\] "m" err="no \\"x\\"" cause="lost" nothing=""$/,
    );
    expect(formatEntry({ ...entry, severity: 'warn' }, 'text')).toMatch(/^W1121/);
    expect(formatEntry({ ...entry, severity: 'debug' }, 'text')).toMatch(/^I1121/);
  });

  test('in the JSON format has the field names of the reference', () => {
    expect(JSON.parse(formatEntry(entry, 'json'))).toEqual({
      ts: time,
      caller: 'pod-workers:1',
      msg: 'it "runs"\nagain',
      v: 0,
      pod: 'default/hello',
      count: 3,
      ips: ['10.0.0.1'],
    });
    const wrong = { ...entry, severity: 'error' as const, fields: { err: new Error('lost') } };
    expect(JSON.parse(formatEntry(wrong, 'json'))).toEqual({
      ts: time,
      caller: 'pod-workers:1',
      msg: entry.message,
      err: 'lost',
    });
    expect(JSON.parse(formatEntry({ ...entry, severity: 'debug' }, 'json'))).toMatchObject({ v: 4 });
  });

  test('stays one line whatever the message contains', () => {
    fc.assert(
      fc.property(fc.string(), fc.dictionary(fc.stringMatching(/^[a-z]+$/), fc.jsonValue()), (message, fields) => {
        expect(formatEntry({ ...entry, message, fields }, 'text')).toMatch(
          /^I1121 \S+ +345 pod-workers:1\] ".*"[^\n]*$/,
        );
        expect(JSON.parse(formatEntry({ ...entry, message }, 'json'))).toMatchObject({ msg: message });
      }),
    );
  });
});

describe('the output of a process', () => {
  test('is parsed if it was written by the logger of a service', () => {
    const at = '2026-11-20T23:41:52.123Z';
    const line = `{"level":"warn","time":"${at}","service":"prober","instance":"prober-2","pid":9,"pod":"a/b","msg":"late"}`;
    expect(readEntry(line, from, 1)).toEqual({
      severity: 'warn',
      time: Date.parse(at),
      pid: 9,
      source: 'prober',
      number: 2,
      message: 'late',
      fields: { pod: 'a/b' },
    });
  });

  test.each([
    ['[12] 2026/11/21 01:35:01.146698 [INF]   Version:  2.9.10', 'debug', 'Version:  2.9.10'],
    ['[12] 2026/11/21 01:35:01.146698 [WRN] slow', 'warn', 'slow'],
    ['[12] 2026/11/21 01:35:01.146698 [FTL] port in use', 'error', 'port in use'],
  ])('is parsed if it was written by nats-server: %s', (line, severity, message) => {
    expect(readEntry(line, { name: 'nats-server', pid: 7 }, 1)).toEqual({
      severity,
      time: 1,
      pid: 12,
      source: 'nats-server',
      number: 0,
      message,
      fields: {},
    });
  });

  test.each(['{"a":1}', '{not json', '    at file.ts:1', ''])(
    'is logged as an error of that process otherwise: %j',
    (line) => {
      expect(readEntry(line, from, 1)).toEqual({
        severity: 'error',
        time: 1,
        pid: 7,
        source: 'cri-bridge',
        number: 0,
        message: line,
        fields: {},
      });
    },
  );
});

test('the logger of this process omits debug lines below verbosity 4', () => {
  const said: string[] = [];
  const options = {
    source: 'kubelet',
    pid: 1,
    now: () => time,
    write: (one: LogEntry) => said.push(formatEntry(one, 'text')),
  };
  let verbosity = 3;
  const logger = klogLogger({ ...options, verbosity: () => verbosity }).child({ pod: 'a' });
  logger.debug({ b: 0 }, 'detail');
  verbosity = 4;
  logger.debug({ b: 1 }, 'detail');
  expect(said).toEqual([expect.stringMatching(/kubelet:0\] "detail" pod="a" b=1$/)]);
});
