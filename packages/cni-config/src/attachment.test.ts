import { describe, expect, test } from '@jest/globals';
import type { AttachmentRecord, AttachmentRequest } from './attachment-record.ts';
import { advance } from './attachment.ts';
import { type AttachmentInput, type AttachmentState, type Transition, restoreAttachment } from './attachment-state.ts';
import { CniError, PluginMissing } from './cni-error.ts';
import type { CniResult } from './result.ts';

const request: AttachmentRequest = {
  containerId: 'c1',
  ifname: 'eth0',
  netns: '/run/netns/a',
  args: 'K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=u1',
  network: {
    file: '10-pods.conflist',
    name: 'pods',
    cniVersion: '1.0.0',
    disableCheck: false,
    disableGC: false,
    plugins: [{ type: 'bridge' }, { type: 'portmap' }],
  },
  capabilityArgs: {},
  askedAt: 1000,
};
const result: CniResult = { interfaces: [], ips: [{ address: '10.88.0.5/16' }], routes: [], dns: {} };
const boom = new CniError(100, 'boom');

const add = (ask: number, change: Partial<AttachmentRequest> = {}): AttachmentInput => ({
  kind: 'add',
  ask,
  request: { ...request, ...change },
});
const del = (ask: number, unknown?: AttachmentRequest): AttachmentInput => ({ kind: 'del', ask, unknown });
const check = (ask: number): AttachmentInput => ({ kind: 'check', ask });
const done: AttachmentInput = { kind: 'done' };
const added: AttachmentInput = { kind: 'done', result };
const failed: AttachmentInput = { kind: 'failed', error: boom };
const missing: AttachmentInput = { kind: 'failed', error: new PluginMissing('bridge', ['/opt/cni/bin']) };

/** Runs the inputs; each step is told as "operation | answers". */
function story(from: AttachmentState, ...inputs: AttachmentInput[]): { steps: string[]; state: AttachmentState } {
  let state = from;
  const steps = inputs.map((input) => {
    const transition = advance(state, input);
    state = transition.state;
    return tell(transition);
  });
  return { steps, state };
}

function tell({ operation, answers }: Transition): string {
  const what =
    operation === undefined
      ? ''
      : operation.kind === 'plugin'
        ? `${operation.command} ${operation.index}${operation.prevResult === undefined ? '' : ' with result'}`
        : `${operation.kind} ${operation.record.state} ${operation.record.completed}`;
  const said = answers.map(({ ask, outcome }) =>
    'error' in outcome
      ? `${ask}: ${outcome.error.cniCode}`
      : `${ask}: ${outcome.result === undefined ? 'ok' : 'result'}`,
  );
  return `${what} | ${said.join(', ')}`;
}

const absent: AttachmentState = { phase: 'absent' };
const record: AttachmentRecord = {
  version: 1,
  state: 'added',
  ...request,
  pod: { namespace: 'default', name: 'web', uid: 'u1' },
  completed: 2,
  result,
};
const standing = restoreAttachment(record);

describe('advance', () => {
  test.each<[string, AttachmentState, AttachmentInput[], string[], string]>([
    [
      'ADD records its intent, each result, and then answers',
      absent,
      [add(1), done, added, done, added, done],
      [
        'record adding 0 | ',
        'ADD 0 | ',
        'record adding 1 | ',
        'ADD 1 with result | ',
        'record added 2 | ',
        ' | 1: result',
      ],
      'added',
    ],
    [
      'a repeated ADD joins the one under way, and gets the recorded result afterwards',
      absent,
      [add(1), done, add(2), added, done, added, done, add(3)],
      [
        'record adding 0 | ',
        'ADD 0 | ',
        ' | ',
        'record adding 1 | ',
        'ADD 1 with result | ',
        'record added 2 | ',
        ' | 1: result, 2: result',
        ' | 3: result',
      ],
      'added',
    ],
    [
      'a plugin that fails is undone from itself down, before the error is told',
      absent,
      [add(1), done, added, done, failed, done, done, done],
      [
        'record adding 0 | ',
        'ADD 0 | ',
        'record adding 1 | ',
        'ADD 1 with result | ',
        'DEL 1 with result | ',
        'DEL 0 with result | ',
        'forget adding 1 | ',
        ' | 1: 100',
      ],
      'absent',
    ],
    [
      'a plugin that is missing has done nothing: only those before it are undone',
      absent,
      [add(1), done, added, done, missing, done, done],
      [
        'record adding 0 | ',
        'ADD 0 | ',
        'record adding 1 | ',
        'ADD 1 with result | ',
        'DEL 0 with result | ',
        'forget adding 1 | ',
        ' | 1: 5',
      ],
      'absent',
    ],
    [
      'without the first plugin nothing is undone',
      absent,
      [add(1), done, missing, done],
      ['record adding 0 | ', 'ADD 0 | ', 'forget adding 0 | ', ' | 1: 5'],
      'absent',
    ],
    [
      'an ADD without an address on the interface is undone',
      absent,
      [add(1), done, added, done, { kind: 'done', result: { ...result, ips: [] } }, done, done, done],
      [
        'record adding 0 | ',
        'ADD 0 | ',
        'record adding 1 | ',
        'ADD 1 with result | ',
        'DEL 1 with result | ',
        'DEL 0 with result | ',
        'forget adding 1 | ',
        ' | 1: 999',
      ],
      'absent',
    ],
    [
      'an intent that cannot be recorded runs nothing',
      absent,
      [add(1), failed],
      ['record adding 0 | ', ' | 1: 100'],
      'absent',
    ],
    [
      'a result that cannot be recorded is undone',
      absent,
      [add(1), done, added, failed, done, done],
      [
        'record adding 0 | ',
        'ADD 0 | ',
        'record adding 1 | ',
        'DEL 0 with result | ',
        'forget adding 0 | ',
        ' | 1: 100',
      ],
      'absent',
    ],
    [
      'an undo that fails leaves the record, and the next ADD begins with it',
      absent,
      [add(1), done, failed, failed, add(2), done, done, done],
      [
        'record adding 0 | ',
        'ADD 0 | ',
        'DEL 0 | ',
        ' | 1: 100',
        'DEL 0 | ',
        'forget adding 0 | ',
        'record adding 0 | ',
        'ADD 0 | ',
      ],
      'adding',
    ],
    [
      'DEL records its intent, runs the chain backwards and forgets',
      standing,
      [del(1), done, done, done, done],
      ['record deleting 2 | ', 'DEL 1 with result | ', 'DEL 0 with result | ', 'forget deleting 2 | ', ' | 1: ok'],
      'absent',
    ],
    [
      'a DEL that fails is told, kept, and runs the whole chain again when asked again',
      standing,
      [del(1), done, done, failed, del(2), done, done, done],
      [
        'record deleting 2 | ',
        'DEL 1 with result | ',
        'DEL 0 with result | ',
        ' | 1: 100',
        'DEL 1 with result | ',
        'DEL 0 with result | ',
        'forget deleting 2 | ',
        ' | 2: ok',
      ],
      'absent',
    ],
    [
      'a DEL whose intent cannot be recorded changes nothing',
      standing,
      [del(1), failed],
      ['record deleting 2 | ', ' | 1: 100'],
      'added',
    ],
    [
      'DEL during ADD stops it after the present plugin',
      absent,
      [add(1), done, del(2), added, done, done],
      ['record adding 0 | ', 'ADD 0 | ', ' | ', 'DEL 0 with result | ', 'forget adding 0 | ', ' | 1: 11, 2: ok'],
      'absent',
    ],
    [
      'DEL while the final result is recorded undoes it all, with its intent recorded',
      absent,
      [add(1), done, added, done, added, del(2), done, done, done, done, done],
      [
        'record adding 0 | ',
        'ADD 0 | ',
        'record adding 1 | ',
        'ADD 1 with result | ',
        'record added 2 | ',
        ' | ',
        'record deleting 2 | ',
        'DEL 1 with result | ',
        'DEL 0 with result | ',
        'forget deleting 2 | ',
        ' | 1: 11, 2: ok',
      ],
      'absent',
    ],
    [
      'ADD after DEL begins afresh when the removal has ended; a later DEL takes it back',
      standing,
      [del(1), add(2), add(3), del(4), add(5), done, done, done, done],
      [
        'record deleting 2 | ',
        ' | ',
        ' | ',
        ' | 2: 11, 3: 11',
        ' | ',
        'DEL 1 with result | ',
        'DEL 0 with result | ',
        'forget deleting 2 | ',
        'record adding 0 | 1: ok, 4: ok',
      ],
      'adding',
    ],
    ['DEL of what nobody knows, without a network, is success', absent, [del(1)], [' | 1: ok'], 'absent'],
    [
      'DEL of what nobody knows runs the chain without a record',
      absent,
      [del(1, request), del(2, request), done, done],
      ['DEL 1 | ', ' | ', 'DEL 0 | ', ' | 1: ok, 2: ok'],
      'absent',
    ],
    ['and a failure of it is told', absent, [del(1, request), failed], ['DEL 1 | ', ' | 1: 100'], 'absent'],
    [
      'a crash during ADD is undone from the plugin that may have run',
      restoreAttachment({ ...record, state: 'adding', completed: 0, result: undefined }),
      [del(1), done, done],
      ['DEL 0 | ', 'forget adding 0 | ', ' | 1: ok'],
      'absent',
    ],
    [
      'a crash during DEL runs the whole chain again',
      restoreAttachment({ ...record, state: 'deleting' }),
      [del(1), done, done, done],
      ['DEL 1 with result | ', 'DEL 0 with result | ', 'forget deleting 2 | ', ' | 1: ok'],
      'absent',
    ],
    [
      'CHECK runs the chain forwards',
      standing,
      [check(1), check(2), done, add(3), done],
      ['CHECK 0 with result | ', ' | ', 'CHECK 1 with result | ', ' | 3: result', ' | 1: ok, 2: ok'],
      'added',
    ],
    [
      'a CHECK that fails changes nothing',
      standing,
      [check(1), failed],
      ['CHECK 0 with result | ', ' | 1: 100'],
      'added',
    ],
    [
      'DEL during CHECK stops it',
      standing,
      [check(1), del(2), done],
      ['CHECK 0 with result | ', ' | ', 'record deleting 2 | 1: 11'],
      'removing',
    ],
    ['CHECK of what does not exist', absent, [check(1)], [' | 1: 3'], 'absent'],
  ])('%s', (_, from, inputs, steps, phase) => {
    const told = story(from, ...inputs);
    expect(told.steps).toEqual(steps);
    expect(told.state.phase).toBe(phase);
  });

  test.each([
    ['is switched off', { disableCheck: true }, ' | 1: ok'],
    ['is not in the version', { cniVersion: '0.3.1' as const }, ' | 1: 1'],
  ])('CHECK where it %s', (_, change, step) => {
    const network = { ...request.network, ...change };
    expect(story(restoreAttachment({ ...record, network }), check(1)).steps).toEqual([step]);
  });

  test('before 0.4.0 DEL gets no result', () => {
    const network = { ...request.network, cniVersion: '0.3.1' as const };
    expect(story(restoreAttachment({ ...record, network }), del(1), done).steps).toEqual([
      'record deleting 2 | ',
      'DEL 1 | ',
    ]);
  });

  test.each([
    ['added', standing],
    ['under way', story(absent, add(1)).state],
  ])('ADD into another network namespace is refused: %s', (_, state) => {
    const { steps, state: after } = story(state, add(9, { netns: '/run/netns/b' }));
    expect(steps).toEqual([' | 9: 4']);
    expect(after).toEqual(state);
  });

  test('the answer to ADD is the recorded result', () => {
    expect(advance(standing, add(1)).answers).toEqual([{ ask: 1, outcome: { result } }]);
  });
});
