import {
  type Container,
  type ContainerStatus,
  type Pod,
  type PodStatus,
  bareType,
  podStatus,
  typeOf,
} from '@kubus/contracts';
import { formatAge } from '../output/table.ts';
import type { RecordedEvent } from '../pods/recorded-events.ts';
import type { Explanation } from './explanation.ts';

/** The types of the messages that explain most. */
const STATUS = bareType(typeOf(podStatus));
/** Kubernetes events come from several services: only the last two parts are compared. */
export const EVENT = 'event.recorded';

/** What the containers of a pod are judged by. */
export interface ContainersInput {
  readonly name: string;
  readonly spec: Pod['spec'] | undefined;
  readonly status: PodStatus;
  /** Newest last. */
  readonly events: readonly RecordedEvent[];
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
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
    const reason = [status.reason, status.message].filter((text) => text !== undefined && text !== '').join(': ');
    const how = isFailed
      ? `has failed: ${reason || 'no container says why'}`
      : 'has ended well: every container exited with 0';
    return { state: isFailed ? 'failed' : 'ended', text: `${name} ${how}${lastEnd(all, now)}.`, says: says(reason) };
  }
  const ends = failed.map((one) => `${one.name} ${endOf(one, now)}`).join(', ');
  const text = `${name} has failed: ${ends}, and its restartPolicy is ${policy}.`;
  return { state: 'failed', text, says: says(failed[0]?.state?.terminated?.message) };
}

function lastEnd(all: readonly ContainerStatus[], now: number): string {
  const ends = all.flatMap(({ state }) => state?.terminated?.finishedAt ?? []).sort();
  const last = ends.at(-1);
  return last === undefined ? '' : `, the last ${ago(last, now)}`;
}

function explainInit({ name, spec, status, events, now }: ContainersInput): Explanation | undefined {
  const containers = spec?.initContainers ?? [];
  const at = containers.findIndex((container) => !isOver(container, find(status.initContainerStatuses, container)));
  const container = containers[at];
  if (container === undefined) return undefined;
  const found = find(status.initContainerStatuses, container);
  const which = `${container.restartPolicy === 'Always' ? 'sidecar' : 'init container'} ${container.name} (${at + 1} of ${containers.length})`;
  const waiting = explainOne({ name, which, found, events, now });
  if (waiting !== undefined) return waiting;
  if (found?.state?.running === undefined) {
    return { state: 'waiting', text: `${name} waits for its ${which} to be started.`, says: says() };
  }
  const since = ago(found.state.running.startedAt, now);
  const until = container.restartPolicy === 'Always' ? 'its startup probe to succeed' : 'it to exit with 0';
  const text = `${name} waits for its ${which}: it was started ${since}, and the pod waits for ${until}.`;
  return { state: 'waiting', text, says: says() };
}

/** Whether the next container may be started. */
function isOver({ restartPolicy }: Container, found: ContainerStatus | undefined): boolean {
  return restartPolicy === 'Always' ? found?.started === true : found?.state?.terminated?.exitCode === 0;
}

function explainWaiting({ name, spec, status, events, now }: ContainersInput): Explanation | undefined {
  for (const container of spec?.containers ?? []) {
    const found = find(status.containerStatuses, container);
    const explained = explainOne({ name, which: `container ${container.name}`, found, events, now });
    if (explained !== undefined) return explained;
  }
  return undefined;
}

interface OneInput extends Pick<ContainersInput, 'name' | 'events' | 'now'> {
  readonly which: string;
  readonly found: ContainerStatus | undefined;
}

/** Undefined when the container runs, or is only about to be made. */
function explainOne({ name, which, found, events, now }: OneInput): Explanation | undefined {
  const { waiting, terminated } = found?.state ?? {};
  const { reason = '', message = '' } = waiting ?? {};
  if (reason === 'CrashLoopBackOff' && found !== undefined) {
    const times = found.restartCount === 1 ? 'once' : `${found.restartCount} times`;
    const last = found.lastState?.terminated;
    const text = `${name} waits to start its ${which} again: it ${endText(last, now)} and was restarted ${times} before${sentence(message)}`;
    return { state: 'waiting', text, says: says(message) };
  }
  if (reason === 'ContainerCreating' || reason === 'PodInitializing') {
    const event = events.findLast(({ type, reason }) => type === 'Warning' && reason !== 'BackOff');
    if (event === undefined) return undefined;
    const text = `${name} waits until its ${which} can be made; last: ${event.reason}: ${stop(event.message)}`;
    return { state: 'waiting', text, says: { type: EVENT, text: event.message } };
  }
  if (reason !== '') {
    const text = `${name} cannot start its ${which}: ${reason}${message === '' ? '.' : `: ${stop(message)}`}`;
    return { state: 'waiting', text, says: says(message) };
  }
  if (terminated === undefined || terminated.exitCode === 0) return undefined;
  const text = `${name} waits for its ${which}, which ${endText(terminated, now)}, to be started again.`;
  return { state: 'waiting', text, says: says(terminated.message) };
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
  now: number;
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
    return {
      state: 'unready',
      text: `${runs}, started ${ago(found.state.running.startedAt, now)}, has not succeeded yet.`,
      says: says(),
    };
  }
  const text = `${runs} failed ${ago(event.lastTimestamp, now)}, ${event.count === 1 ? 'once' : `${event.count} times`} so far: ${stop(event.message)}`;
  return { state: 'unready', text, says: { type: EVENT, text: event.message } };
}

function explainReady({ name, status, now }: ContainersInput): Explanation {
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  const restarted = (status.containerStatuses ?? []).filter(({ restartCount }) => restartCount > 0);
  const time = ready?.lastTransitionTime;
  const since = typeof time === 'string' ? ` since ${formatAge(now - Date.parse(time))}` : '';
  const again = restarted.map((one) => {
    const times = one.restartCount === 1 ? 'once' : `${one.restartCount} times`;
    return ` Its container ${one.name} was restarted ${times}; before the last restart it ${endText(one.lastState?.terminated, now)}.`;
  });
  return { state: 'ready', text: `${name} runs and is ready${since}.${again.join('')}`, says: says() };
}

/** `exited with 1 (Error) 12s ago: message`. */
function endOf({ state }: ContainerStatus, now: number): string {
  return endText(state?.terminated, now);
}

function endText(end: NonNullable<ContainerStatus['state']>['terminated'], now: number): string {
  if (end === undefined) return 'ended';
  const { exitCode, signal = 0, reason = '', message = '', finishedAt } = end;
  const how = signal === 0 ? `exited with ${exitCode}` : `was ended by signal ${signal}`;
  const why = reason === '' || (reason === 'Error' && message !== '') ? '' : ` (${reason})`;
  const said = message.trim();
  return `${how}${why} ${ago(finishedAt, now)}${said === '' ? '' : ` and left "${said}"`}`;
}

function ago(time: string | null | undefined, now: number): string {
  return typeof time === 'string' ? `${formatAge(now - Date.parse(time))} ago` : 'at an unknown time';
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
  return text === '' ? '.' : `: ${stop(text)}`;
}

/** With a point at its end. */
export function stop(text: string): string {
  const trimmed = text.trim().replace(/:$/, '');
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
