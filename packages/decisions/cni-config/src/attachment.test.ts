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

/** Runs the inputs; each step is shown as "operation | answers". */
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
      'ADD records its intent and each result, and then answers',
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
      'a repeated ADD attaches to the one in progress, and later gets the recorded result',
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
      'a failed chain is undone from the failed plugin down, before the error is returned',
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
      'with a missing plugin, only those before it are undone',
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
      'with the first plugin missing, nothing is undone',
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
      'an undo that fails keeps the record, and the next ADD starts by repeating it',
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
      'DEL records its intent, runs the chain backwards and removes the record',
      standing,
      [del(1), done, done, done, done],
      ['record deleting 2 | ', 'DEL 1 with result | ', 'DEL 0 with result | ', 'forget deleting 2 | ', ' | 1: ok'],
      'absent',
    ],
    [
      'a failed DEL is reported and kept, and the next DEL runs the whole chain again',
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
      'DEL during ADD stops it after the current plugin',
      absent,
      [add(1), done, del(2), added, done, done],
      ['record adding 0 | ', 'ADD 0 | ', ' | ', 'DEL 0 with result | ', 'forget adding 0 | ', ' | 1: 11, 2: ok'],
      'absent',
    ],
    [
      'DEL while the final result is being recorded records its intent and undoes everything',
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
      'ADD during DEL starts when the removal has ended; a later DEL cancels it',
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
    ['DEL of an unknown attachment without a network succeeds', absent, [del(1)], [' | 1: ok'], 'absent'],
    [
      'DEL of an unknown attachment runs the chain without a record',
      absent,
      [del(1, request), del(2, request), done, done],
      ['DEL 1 | ', ' | ', 'DEL 0 | ', ' | 1: ok, 2: ok'],
      'absent',
    ],
    [
      'DEL of an unknown attachment reports its failure',
      absent,
      [del(1, request), failed],
      ['DEL 1 | ', ' | 1: 100'],
      'absent',
    ],
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
    ['a failed CHECK changes nothing', standing, [check(1), failed], ['CHECK 0 with result | ', ' | 1: 100'], 'added'],
    [
      'DEL during CHECK stops it',
      standing,
      [check(1), del(2), done],
      ['CHECK 0 with result | ', ' | ', 'record deleting 2 | 1: 11'],
      'removing',
    ],
    ['CHECK of an attachment that does not exist fails', absent, [check(1)], [' | 1: 3'], 'absent'],
  ])('%s', (_, from, inputs, steps, phase) => {
    const outcome = story(from, ...inputs);
    expect(outcome.steps).toEqual(steps);
    expect(outcome.state.phase).toBe(phase);
  });

  test.each([
    ['is disabled', { disableCheck: true }, ' | 1: ok'],
    ['is not part of the CNI version', { cniVersion: '0.3.1' as const }, ' | 1: 1'],
  ])('CHECK where it %s is answered without running plugins', (_, change, step) => {
    const network = { ...request.network, ...change };
    expect(story(restoreAttachment({ ...record, network }), check(1)).steps).toEqual([step]);
  });

  test('DEL passes no result before CNI 0.4.0', () => {
    const network = { ...request.network, cniVersion: '0.3.1' as const };
    expect(story(restoreAttachment({ ...record, network }), del(1), done).steps).toEqual([
      'record deleting 2 | ',
      'DEL 1 | ',
    ]);
  });

  test.each([
    ['added', standing],
    ['in progress', story(absent, add(1)).state],
  ])('ADD into another network namespace is refused: %s', (_, state) => {
    const { steps, state: after } = story(state, add(9, { netns: '/run/netns/b' }));
    expect(steps).toEqual([' | 9: 4']);
    expect(after).toEqual(state);
  });

  test('ADD is answered with the recorded result', () => {
    expect(advance(standing, add(1)).answers).toEqual([{ ask: 1, outcome: { result } }]);
  });
});
