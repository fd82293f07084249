// Kills for lack of memory, as kernels of several versions log them.
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { type OomKill, type OomUnderWay, kernelRecord, stepOom, systemOomMessage } from '../src/oom-kills.ts';

function killsIn(lines: readonly string[]): OomKill[] {
  let underWay: OomUnderWay;
  return lines.flatMap((line) => {
    const { kill, ...next } = stepOom(underWay, line);
    ({ underWay } = next);
    return kill ?? [];
  });
}

const begin = 'tail invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=1000';
const rest = [
  'CPU: 1 PID: 77 Comm: tail Not tainted 6.8.0',
  'Call Trace:',
  '[    41]     0    41    12345     1024  tail',
];
const ofMachine =
  'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=stress,pid=4242,uid=0';
const ofPod =
  'oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/kubepods/pod1,task_memcg=/kubepods/pod1/c,task=tail,pid=77,uid=0';
const killed =
  'Out of memory: Killed process 4242 (stress) total-vm:1kB, anon-rss:1kB, UID:0 pgtables:60kB oom_score_adj:0';
const killedInPod =
  'Memory cgroup out of memory: Killed process 77 (tail) total-vm:1kB, anon-rss:1kB, UID:0 oom_score_adj:1000';

test.each<[string, string[], (string | undefined)[]]>([
  [
    'of the machine',
    [begin, ...rest, ofMachine, killed],
    ['System OOM encountered, victim process: stress, pid: 4242'],
  ],
  ['of a pod', [begin, ...rest, ofPod, killedInPod], [undefined]],
  [
    'of a pod, then of the machine',
    [begin, ofPod, killedInPod, begin, ofMachine, killed],
    [undefined, 'System OOM encountered, victim process: stress, pid: 4242'],
  ],
  [
    'of a process with a strange name',
    [begin, ofMachine.replace('stress', 'a,pid=1 (b)'), killed.replace('(stress)', '(a) (b))')],
    ['System OOM encountered, victim process: a) (b), pid: 4242'],
  ],
  ['of a pod’s process that pretends', [begin, ofPod.replace('task=tail', 'task=x,pid=9,uid=0')], [undefined]],
  [
    'of the machine, before Linux 5.0',
    [begin, 'Killed process 9 (old) total-vm:1kB'],
    ['System OOM encountered, victim process: old, pid: 9'],
  ],
  [
    'of a pod, before Linux 5.0',
    [begin, 'Task in /kubepods/p killed as a result of limit of /kubepods', 'Killed process 9 (old) total-vm:1kB'],
    [undefined],
  ],
  ['a kill by somebody else', [killed, ofMachine], []],
  ['a line that nobody ends', [begin, 'x'.repeat(10_000)], []],
])('%s', (_, lines, messages) => expect(killsIn(lines).map(systemOomMessage)).toEqual(messages));

describe('a record', () => {
  test.each<[string, ReturnType<typeof kernelRecord>]>([
    [
      '4,1204,5140900,-;tail invoked oom-killer: x\n SUBSYSTEM=y\n',
      { atMs: 5140.9, text: 'tail invoked oom-killer: x' },
    ],
    ['6,1,0,c;', { atMs: 0, text: '' }],
    ['12,1205,5140901,-;tail invoked oom-killer: x', undefined],
    ['4,1204;text', undefined],
    ['', undefined],
  ])('%j', (record, read) => expect(kernelRecord(record)).toEqual(read));
});

test('no line, whatever it says, takes long or breaks the reading', () => {
  const part = fc.constantFrom(
    'oom-kill:',
    ',oom_memcg=',
    ',task_memcg=',
    ',task=',
    ',pid=',
    ',uid=',
    'Killed process 1 (',
    ')',
    'a',
    '1',
    ',',
    'Task in ',
    ' killed as a result of limit of ',
    'invoked oom-killer:',
  );
  const line = fc.array(fc.oneof(part, fc.string({ maxLength: 5 })), { maxLength: 60 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
      const kills = killsIn(lines);
      expect(kills.length).toBeLessThanOrEqual(lines.filter((one) => one.includes('invoked oom-killer:')).length);
      for (const { pid } of kills) expect(Number.isInteger(pid)).toBe(true);
      for (const text of lines) kernelRecord(text);
    }),
  );
});
