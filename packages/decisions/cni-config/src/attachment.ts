import { type AttachmentRecord, type AttachmentRequest, intentRecord } from './attachment-record.ts';
import type { Answer, Ask, AttachmentInput, AttachmentState, Next, Phase, Transition } from './attachment-state.ts';
import { CniCode, CniError, PluginMissing, toCniError } from './cni-error.ts';
import { passesResultOn } from './plugin-call.ts';
import { type CniResult, requireAddress } from './result.ts';

/**
 * Decides what an input means for an attachment (CNI SPEC.md, section 3).
 *
 * ADD: the intent is recorded before the first plugin runs and each plugin's result before the next one, so that a crash
 * between any two steps leaves a record from which everything can be undone. A failed ADD is undone from the plugin
 * that failed down to the first one before its callers receive the error. A repeated ADD gets the recorded result, or attaches to
 * the one in progress. DEL takes precedence over an ADD in progress, which stops after the current plugin and is undone.
 */
export function advance(state: AttachmentState, input: AttachmentInput): Transition {
  switch (input.kind) {
    case 'add':
      return onAdd(state, input);
    case 'del':
      return onDel(state, input);
    case 'check':
      return onCheck(state, input.ask);
    case 'done':
    case 'failed':
      return onOutcome(state, input);
  }
}

function onAdd(state: AttachmentState, next: Next): Transition {
  switch (state.phase) {
    case 'absent':
      return begin([next], []);
    case 'adding': {
      if (state.deleters.length > 0) {
        return wait({ ...state, next: [...state.next, next] });
      }
      const conflict = conflictOf(state.record, next);
      return conflict === undefined
        ? wait({ ...state, adders: [...state.adders, next.ask] })
        : { state, answers: [conflict] };
    }
    case 'added':
    case 'checking':
      return {
        state,
        answers: [conflictOf(state.record, next) ?? { ask: next.ask, outcome: { result: state.record.result } }],
      };
    case 'removing':
      return wait({ ...state, next: [...state.next, next] });
    case 'unfinished':
      return remove(state.record, { deleters: [], next: [next] });
  }
}

function onDel(
  state: AttachmentState,
  { ask, unknown }: { ask: Ask; unknown?: AttachmentRequest | undefined },
): Transition {
  switch (state.phase) {
    case 'absent':
      if (unknown === undefined) {
        return { state, answers: [{ ask, outcome: {} }] };
      }
      return runDel({
        phase: 'removing',
        step: 'plugin',
        record: { ...intentRecord(unknown), state: 'deleting', completed: unknown.network.plugins.length },
        recorded: false,
        index: unknown.network.plugins.length - 1,
        deleters: [ask],
        next: [],
      });
    case 'adding':
    case 'removing':
      return {
        state: { ...state, deleters: [...state.deleters, ask], next: [] },
        answers: reject(asksOf(state.next), overtaken()),
      };
    case 'checking':
      return wait({ ...state, deleters: [...state.deleters, ask] });
    case 'added':
    case 'unfinished':
      return remove(state.record, { deleters: [ask], next: [] });
  }
}

function onCheck(state: AttachmentState, ask: Ask): Transition {
  switch (state.phase) {
    case 'added': {
      const { network } = state.record;
      if (!passesResultOn(network)) {
        const error = new CniError(
          CniCode.incompatibleVersion,
          `network ${network.name} is of CNI version ${network.cniVersion}, which has no CHECK`,
        );
        return { state, answers: reject([ask], error) };
      }
      return network.disableCheck
        ? { state, answers: [{ ask, outcome: {} }] }
        : runCheck({ phase: 'checking', record: state.record, index: 0, checkers: [ask], deleters: [] });
    }
    case 'checking':
      return wait({ ...state, checkers: [...state.checkers, ask] });
    case 'adding':
      return { state, answers: reject([ask], tryAgain('ADD is in progress')) };
    case 'absent':
    case 'removing':
    case 'unfinished':
      return { state, answers: reject([ask], new CniError(CniCode.unknownContainer, 'the attachment does not exist')) };
  }
}

type Outcome = Extract<AttachmentInput, { kind: 'done' | 'failed' }>;

function onOutcome(state: AttachmentState, outcome: Outcome): Transition {
  switch (state.phase) {
    case 'adding':
      return outcome.kind === 'done' ? addDone(state, outcome.result) : addFailed(state, outcome.error);
    case 'checking':
      return checkOutcome(state, outcome);
    case 'removing':
      return outcome.kind === 'done' ? removeDone(state) : removeFailed(state, outcome.error);
    default:
      return { state, answers: [] };
  }
}

/** Starts the ADD of the first waiting caller; callers that request the same attach to it, others are refused. */
function begin(next: readonly Next[], answers: readonly Answer[]): Transition {
  const [first] = next;
  if (first === undefined) {
    return { state: { phase: 'absent' }, answers };
  }
  const record = intentRecord(first.request);
  const conflicts = next.flatMap((other) => conflictOf(record, other) ?? []);
  const adders = asksOf(next).filter((ask) => !conflicts.some((conflict) => conflict.ask === ask));
  return {
    state: { phase: 'adding', step: 'intent', record, adders, deleters: [], next: [] },
    operation: { kind: 'record', record },
    answers: [...answers, ...conflicts],
  };
}

function addDone(state: Phase<'adding'>, result: CniResult | undefined): Transition {
  switch (state.step) {
    case 'intent':
      return state.deleters.length > 0 ? forget(removal(state, overtaken(), -1)) : runAdd(state);
    case 'plugin':
      return pluginAdded(state, result);
    case 'progress': {
      const record = state.reached ?? state.record;
      if (state.deleters.length > 0) {
        return undo({ ...state, record }, overtaken(), record.completed - 1);
      }
      return record.state === 'added'
        ? {
            state: { phase: 'added', record },
            answers: state.adders.map((ask) => ({ ask, outcome: { result: record.result } })),
          }
        : runAdd({ ...state, record });
    }
  }
}

function pluginAdded(state: Phase<'adding'>, result: CniResult | undefined): Transition {
  const { record } = state;
  const completed = record.completed + 1;
  const isLast = completed === record.network.plugins.length;
  if (state.deleters.length > 0) {
    return undo({ ...state, record: { ...record, result } }, overtaken(), record.completed);
  }
  if (isLast && result !== undefined) {
    try {
      requireAddress(result, record.ifname);
    } catch (error) {
      return undo({ ...state, record: { ...record, result } }, toCniError(error), record.completed);
    }
  }
  const reached: AttachmentRecord = { ...record, completed, result, state: isLast ? 'added' : 'adding' };
  return {
    state: { ...state, step: 'progress', reached },
    operation: { kind: 'record', record: reached },
    answers: [],
  };
}

function addFailed(state: Phase<'adding'>, error: CniError): Transition {
  switch (state.step) {
    case 'intent': // No plugin has run.
      return begin(state.next, [...reject(state.adders, error), ...accept(state.deleters)]);
    case 'plugin':
      return undo(state, error, state.record.completed - (error instanceof PluginMissing ? 1 : 0));
    case 'progress': {
      const result = state.reached?.result;
      return undo({ ...state, record: { ...state.record, result } }, error, state.record.completed);
    }
  }
}

function checkOutcome(state: Phase<'checking'>, outcome: Outcome): Transition {
  const { record, checkers, deleters } = state;
  if (deleters.length > 0) {
    const removing = remove(record, { deleters, next: [] });
    return { ...removing, answers: [...removing.answers, ...reject(checkers, overtaken())] };
  }
  if (outcome.kind === 'failed') {
    return { state: { phase: 'added', record }, answers: reject(checkers, outcome.error) };
  }
  return state.index + 1 < record.network.plugins.length
    ? runCheck({ ...state, index: state.index + 1 })
    : { state: { phase: 'added', record }, answers: accept(checkers) };
}

function removeDone(state: Phase<'removing'>): Transition {
  switch (state.step) {
    case 'intent':
      return runDel(state);
    case 'plugin':
      return state.index > 0 ? runDel({ ...state, index: state.index - 1 }) : forget(state);
    case 'forget':
      return removed(state);
  }
}

function removeFailed(state: Phase<'removing'>, error: CniError): Transition {
  const { record, recorded, failed, deleters, next } = state;
  const standing: AttachmentState =
    state.step === 'intent'
      ? { phase: 'added', record: { ...record, state: 'added' } }
      : recorded
        ? { phase: 'unfinished', record, error }
        : { phase: 'absent' };
  return {
    state: standing,
    answers: [
      ...reject(failed?.asks ?? [], failed?.error ?? error),
      ...reject(deleters, error),
      ...reject(asksOf(next), tryAgain(`an earlier attachment could not be removed: ${error.message}`)),
    ],
  };
}

function removed({ failed, deleters, next }: Phase<'removing'>): Transition {
  return begin(next, [...(failed === undefined ? [] : reject(failed.asks, failed.error)), ...accept(deleters)]);
}

/** Undoes an ADD from plugin `index` down, -1 for none; its callers receive `error` when that is done. */
function undo(state: Phase<'adding'>, error: CniError, index: number): Transition {
  if (index < 0) return forget(removal(state, error, index));
  return state.record.state === 'added'
    ? remove(state.record, removal(state, error, index))
    : runDel(removal(state, error, index));
}

function removal(state: Phase<'adding'>, error: CniError, index: number): Phase<'removing'> {
  const { record, adders, deleters, next } = state;
  return {
    phase: 'removing',
    step: 'plugin',
    record,
    recorded: true,
    index,
    failed: { asks: adders, error },
    deleters,
    next,
  };
}

/** Removes what the journal has: the intent is recorded first where the journal still has the attachment as added. */
function remove(
  record: AttachmentRecord,
  waiting: Pick<Phase<'removing'>, 'deleters' | 'next' | 'failed'>,
): Transition {
  const last = record.network.plugins.length - 1;
  if (record.state !== 'added') {
    const index = record.state === 'adding' ? Math.min(record.completed, last) : last;
    return runDel({ ...waiting, phase: 'removing', step: 'plugin', record, recorded: true, index });
  }
  const deleting: AttachmentRecord = { ...record, state: 'deleting' };
  return {
    state: { ...waiting, phase: 'removing', step: 'intent', record: deleting, recorded: true, index: last },
    operation: { kind: 'record', record: deleting },
    answers: [],
  };
}

function runAdd(state: Phase<'adding'>): Transition {
  const { record } = state;
  return {
    state: { ...state, step: 'plugin' },
    operation: { kind: 'plugin', command: 'ADD', index: record.completed, record, prevResult: record.result },
    answers: [],
  };
}

function runDel(state: Phase<'removing'>): Transition {
  return {
    state: { ...state, step: 'plugin' },
    operation: {
      kind: 'plugin',
      command: 'DEL',
      index: state.index,
      record: state.record,
      prevResult: passedOn(state.record),
    },
    answers: [],
  };
}

function runCheck(state: Phase<'checking'>): Transition {
  return {
    state,
    operation: {
      kind: 'plugin',
      command: 'CHECK',
      index: state.index,
      record: state.record,
      prevResult: passedOn(state.record),
    },
    answers: [],
  };
}

function forget(state: Phase<'removing'>): Transition {
  if (!state.recorded) {
    return removed(state);
  }
  return { state: { ...state, step: 'forget' }, operation: { kind: 'forget', record: state.record }, answers: [] };
}

function passedOn(record: AttachmentRecord): CniResult | undefined {
  return passesResultOn(record.network) ? record.result : undefined;
}

function wait(state: AttachmentState): Transition {
  return { state, answers: [] };
}

/** An ADD for an attachment that exists, or is being created, in another network namespace is an error of the caller. */
function conflictOf(record: AttachmentRecord, { ask, request }: Next): Answer | undefined {
  if (request.netns === record.netns) {
    return undefined;
  }
  const error = new CniError(
    CniCode.invalidEnvironment,
    `${record.ifname} of container ${record.containerId} is in network namespace ${record.netns}, not ${request.netns}`,
  );
  return { ask, outcome: { error } };
}

function asksOf(next: readonly Next[]): readonly Ask[] {
  return next.map(({ ask }) => ask);
}

function accept(asks: readonly Ask[]): Answer[] {
  return asks.map((ask) => ({ ask, outcome: {} }));
}

function reject(asks: readonly Ask[], error: CniError): Answer[] {
  return asks.map((ask) => ({ ask, outcome: { error } }));
}

function overtaken(): CniError {
  return tryAgain('DEL was requested in the meantime');
}

function tryAgain(message: string): CniError {
  return new CniError(CniCode.tryAgainLater, message);
}
