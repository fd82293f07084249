import {
  type Container,
  type ContainerStatus,
  type Pod,
  type PodStatus,
  bareType,
  podStatus,
  podWorker,
  typeOf,
} from '@kubus/contracts';
import { formatAge } from '@kubus/pod';
import type { RecordedEvent } from '../recorded-events.ts';
import type { Explanation } from './explanation.ts';

/** The types of the messages that explain most. */
const STATUS = bareType(typeOf(podStatus));
export const WORKER = bareType(typeOf(podWorker));
/** Kubernetes events come from several services: only the last two parts are compared. */
export const EVENT = 'event.recorded';

type Now = number | undefined;

/** What the containers of a pod are judged by. */
export interface ContainersInput {
  readonly name: string;
  readonly spec: Pod['spec'] | undefined;
  readonly status: PodStatus;
  /** What failed in the last sync. */
  readonly error: string | undefined;
  /** Newest last. */
  readonly events: readonly RecordedEvent[];
  /** Milliseconds since the Unix epoch; undefined: the text does not say how long ago something was. */
  readonly now: Now;
}

/** What a pod that has begun to start waits for, or that it is ready. */
export function explainContainers(input: ContainersInput): Explanation {
  return explainInit(input) ?? explainWaiting(input) ?? explainUnready(input) ?? explainReady(input);
}

/** How a pod has ended. */
export function explainEnd({ name, spec, status, now }: ContainersInput): Explanation {
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const failed = all.filter(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  const isFailed = status.phase === 'Failed';
  const policy = spec?.restartPolicy ?? 'Always';
  if (!isFailed || failed.length === 0) {
    const reason = joined(status.reason ?? '', status.message ?? '').replace(/[.:]$/, '');
    const how = isFailed
      ? `has failed: ${reason || 'no container says why'}`
      : 'has ended well: every container exited with 0';
    return {
      state: isFailed ? 'failed' : 'ended',
      text: `${name} ${how}${lastEnd(all, now)}.`,
      says: says(status.message),
    };
  }
  const ends = failed.map((one) => `container ${one.name} ${endOf(one, now)}`).join(', ');
  const text = `${name} has failed: ${ends}, and its restartPolicy is ${policy}.`;
  return { state: 'failed', text, says: says(failed[0]?.state?.terminated?.message) };
}

function lastEnd(all: readonly ContainerStatus[], now: Now): string {
  const ends = all.flatMap(({ state }) => state?.terminated?.finishedAt ?? []).sort();
  const last = ends.at(-1);
  return last === undefined || now === undefined ? '' : `, the last${ago(last, now)}`;
}

function explainInit({ name, spec, status, error, events, now }: ContainersInput): Explanation | undefined {
  const containers = spec?.initContainers ?? [];
  const at = containers.findIndex((container) => !isOver(container, find(status.initContainerStatuses, container)));
  const container = containers[at];
  if (container === undefined) return undefined;
  const found = find(status.initContainerStatuses, container);
  const which = `${container.restartPolicy === 'Always' ? 'sidecar' : 'init container'} ${container.name} (${at + 1} of ${containers.length})`;
  const waiting = explainOne({ name, which, found, error, events, now });
  if (waiting !== undefined) return waiting;
  if (found?.state?.running === undefined) {
    return { state: 'waiting', text: `${name} waits for its ${which} to be started.`, says: says() };
  }
  const since = ago(found.state.running.startedAt, now);
  const until = container.restartPolicy === 'Always' ? 'its startup probe to succeed' : 'it to exit with 0';
  const text = `${name} waits for its ${which}: it was started${since}, and the pod waits for ${until}.`;
  return { state: 'waiting', text, says: says() };
}

/** Whether the next container may be started. */
function isOver({ restartPolicy }: Container, found: ContainerStatus | undefined): boolean {
  return restartPolicy === 'Always' ? found?.started === true : found?.state?.terminated?.exitCode === 0;
}

function explainWaiting({ name, spec, status, error, events, now }: ContainersInput): Explanation | undefined {
  for (const container of spec?.containers ?? []) {
    const found = find(status.containerStatuses, container);
    const explained = explainOne({ name, which: `container ${container.name}`, found, error, events, now });
    if (explained !== undefined) return explained;
  }
  return undefined;
}

interface OneInput extends Pick<ContainersInput, 'name' | 'error' | 'events' | 'now'> {
  readonly which: string;
  readonly found: ContainerStatus | undefined;
}

/** Undefined when the container runs, or is only about to be made. */
function explainOne({ name, which, found, error, events, now }: OneInput): Explanation | undefined {
  const { waiting, terminated } = found?.state ?? {};
  const { reason = '', message = '' } = waiting ?? {};
  if (reason === 'CrashLoopBackOff' && found !== undefined) {
    const last = found.lastState?.terminated;
    const again = found.restartCount === 0 ? '' : ` and was restarted ${times(found.restartCount)} before`;
    const text = `${name} waits to start its ${which} again (${reason}): it ${endText(last, now)}${again}${sentence(message)}`;
    return { state: 'waiting', text, says: says(message) };
  }
  if (reason === 'ContainerCreating' || reason === 'PodInitializing') {
    const event = events.findLast(({ type, reason }) => type === 'Warning' && reason !== 'BackOff');
    if (event === undefined) return error === undefined ? undefined : explainError(name, which, error);
    const text = `${name} waits until its ${which} can be made; last: ${stop(joined(event.reason, event.message))}`;
    return { state: 'waiting', text, says: { type: EVENT, text: event.message } };
  }
  if (reason !== '') {
    const text = `${name} cannot start its ${which}: ${stop(joined(reason, message))}`;
    return { state: 'waiting', text, says: says(message) };
  }
  if (found === undefined && error !== undefined) return explainError(name, which, error);
  if (terminated === undefined || terminated.exitCode === 0) return undefined;
  const text = `${name} waits for its ${which}, which ${endText(terminated, now)}, to be started again.`;
  return { state: 'waiting', text, says: says(terminated.message) };
}

function explainError(name: string, which: string, error: string): Explanation {
  const text = `${name} waits until its ${which} can be made; the last sync failed and is tried again: ${stop(joined('', error))}`;
  return { state: 'waiting', text, says: { type: WORKER, text: error } };
}

function explainUnready({ name, spec, status, events, now }: ContainersInput): Explanation | undefined {
  const statuses = status.containerStatuses ?? [];
  const late = (spec?.containers ?? []).find((container) => find(statuses, container)?.ready !== true);
  if (late !== undefined) return explainNotReady({ name, container: late, found: find(statuses, late), events, now });
  const conditions = status.conditions ?? [];
  const gate = spec?.readinessGates?.find(
    ({ conditionType }) => !conditions.some((one) => one.type === conditionType && one.status === 'True'),
  );
  if (gate === undefined) return undefined;
  const text = `${name} runs, but is not ready: its readiness gate ${gate.conditionType} is not True.`;
  return { state: 'unready', text, says: says() };
}

function explainNotReady(input: {
  name: string;
  container: Container;
  found: ContainerStatus | undefined;
  events: readonly RecordedEvent[];
  now: Now;
}): Explanation {
  const { name, container, found, events, now } = input;
  if (found?.state?.running === undefined) {
    const ended = found?.state?.terminated;
    const text =
      ended === undefined
        ? `${name} waits until its container ${container.name} is made and started.`
        : `${name} is not ready: its container ${container.name} ${endText(ended, now)} and is not started again.`;
    return { state: ended === undefined ? 'waiting' : 'unready', text, says: says() };
  }
  const probe = found.started === true ? 'readiness' : 'startup';
  const isAbout = ({ reason, fieldPath = '' }: { reason: string; fieldPath?: string | undefined }) =>
    reason === 'Unhealthy' && (fieldPath === '' || fieldPath.includes(`{${container.name}}`));
  const event = events.findLast((one) => isAbout({ reason: one.reason, fieldPath: one.object.fieldPath }));
  const runs = `${name} runs, but is not ready: the ${probe} probe of container ${container.name}`;
  if (event === undefined) {
    const since = now === undefined ? '' : `, started${ago(found.state.running.startedAt, now)},`;
    return { state: 'unready', text: `${runs}${since} has not succeeded yet.`, says: says() };
  }
  const text = `${runs} failed${ago(event.lastTimestamp, now)}, ${times(event.count)} so far: ${stop(joined('', event.message))}`;
  return { state: 'unready', text, says: { type: EVENT, text: event.message } };
}

function explainReady({ name, status, now }: ContainersInput): Explanation {
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  const restarted = (status.containerStatuses ?? []).filter(({ restartCount }) => restartCount > 0);
  const time = ready?.lastTransitionTime;
  const since = typeof time === 'string' && now !== undefined ? ` since ${formatAge(now - Date.parse(time))}` : '';
  const again = restarted.map((one) => {
    return ` Its container ${one.name} was restarted ${times(one.restartCount)}; before the last restart it ${endText(one.lastState?.terminated, now)}.`;
  });
  return { state: 'ready', text: `${name} runs and is ready${since}.${again.join('')}`, says: says() };
}

/** `exited with code 1 (Error) 12s ago and left "message"`. */
function endOf({ state }: ContainerStatus, now: Now): string {
  return endText(state?.terminated, now);
}

function endText(end: NonNullable<ContainerStatus['state']>['terminated'], now: Now): string {
  if (end === undefined) return 'ended';
  const { exitCode, signal = 0, reason = '', message = '', finishedAt } = end;
  const how = signal === 0 ? `exited with code ${exitCode}` : `was ended by signal ${signal}`;
  const why = reason === '' || (reason === 'Error' && message !== '') ? '' : ` (${reason})`;
  const said = joined('', message);
  return `${how}${why}${ago(finishedAt, now)}${said === '' ? '' : ` and left "${said}"`}`;
}

/** ` 12s ago`. */
function ago(time: string | null | undefined, now: Now): string {
  if (now === undefined) return '';
  return typeof time === 'string' ? ` ${formatAge(now - Date.parse(time))} ago` : ' at an unknown time';
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

/** The longest message that is kept whole, in characters, and what is kept of a longer one: the innermost error is last. */
const [LONGEST, BEGIN, END] = [260, 110, 140];

/** `reason: message` in one line, though a runtime's message may have several. */
export function joined(reason: string, message: string): string {
  const line = message.replaceAll(/\s+/g, ' ').trim();
  const short = line.length > LONGEST ? `${line.slice(0, BEGIN)} ... ${line.slice(-END)}` : line;
  return [reason, short].filter((text) => text !== '').join(': ');
}

function find(
  statuses: readonly ContainerStatus[] | undefined,
  { name }: Pick<Container, 'name'>,
): ContainerStatus | undefined {
  return statuses?.find((one) => one.name === name);
}

function says(text?: string): Explanation['says'] {
  return { type: STATUS, ...(text !== undefined && text !== '' && { text }) };
}

/** `: text.`, or only the point. */
function sentence(text: string): string {
  return text === '' ? '.' : `: ${stop(joined('', text))}`;
}

/** With a point at its end. */
export function stop(text: string): string {
  const trimmed = text.trim().replace(/:$/, '');
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
