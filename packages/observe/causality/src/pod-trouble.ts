import { textAt, valueAt } from './summary.ts';

/** What is wrong with a pod, according to its status. */
export interface PodTrouble {
  /** The API's reason, such as `CrashLoopBackOff`. */
  readonly reason: string;
  /** For people, to follow `Failed:`. */
  readonly text: string;
  /** The container that it is about; missing for the pod as a whole. */
  readonly container?: string;
  /** A run of it has ended before, which has output of its own. */
  readonly ranBefore?: boolean;
}

/** A container waits for a reason that passes by itself. */
const usual = new Set(['', 'ContainerCreating', 'PodInitializing']);

/** The first thing that is wrong in a pod's status; undefined while nothing is. `status`: as the API shows it. */
export function troubleOf(status: unknown): PodTrouble | undefined {
  const containers = ['initContainerStatuses', 'containerStatuses'].flatMap((field) => {
    const list = valueAt(status, field);
    return Array.isArray(list) ? (list as readonly unknown[]) : [];
  });
  return ofPod(status) ?? first(containers, waiting) ?? first(containers, exited);
}

function ofPod(status: unknown): PodTrouble | undefined {
  const [reason, message] = [textAt(status, 'reason'), textAt(status, 'message')];
  if (reason === undefined || reason === '') return undefined;
  return { reason, text: joined(reason, message) };
}

function waiting(container: unknown, name: string): PodTrouble | undefined {
  const reason = textAt(container, 'state.waiting.reason') ?? '';
  if (usual.has(reason)) return undefined;
  const last = valueAt(container, 'lastState.terminated');
  if (last === undefined) {
    return { reason, container: name, text: `container ${name} waits: ${joined(reason, messageOf(container))}` };
  }
  const restarts = valueAt(container, 'restartCount');
  const times =
    typeof restarts === 'number' && restarts > 0
      ? `, ${restarts} ${restarts === 1 ? 'restart' : 'restarts'} so far`
      : '';
  const text = `container ${name} waits: ${reason}; its last run ${ended(last)}${times}`;
  return { reason, container: name, text, ranBefore: textAt(last, 'reason') !== 'StartError' };
}

function exited(container: unknown, name: string): PodTrouble | undefined {
  const end = valueAt(container, 'state.terminated');
  if (end === undefined || valueAt(end, 'exitCode') === 0) return undefined;
  return { reason: textAt(end, 'reason') ?? 'Error', container: name, text: `container ${name} ${ended(end)}` };
}

/** `exited with code 3 (Error): no database`. */
function ended(terminated: unknown): string {
  const [code, signal] = [valueAt(terminated, 'exitCode'), valueAt(terminated, 'signal')];
  const how =
    typeof signal === 'number' && signal > 0 ? `was ended by signal ${signal}` : `exited with code ${String(code)}`;
  const reason = textAt(terminated, 'reason') ?? '';
  return joined(reason === '' ? how : `${how} (${reason})`, textAt(terminated, 'message'));
}

function messageOf(container: unknown): string | undefined {
  return textAt(container, 'state.waiting.message');
}

/** In one line, though a runtime's message may have several. Of a long one the middle is left out: the innermost error is last. */
function joined(what: string, message: string | undefined): string {
  const line = (message ?? '').replaceAll(/\s+/g, ' ').trim().replace(/\.$/, '');
  if (line === '') return what;
  return `${what}: ${line.length > 260 ? `${line.slice(0, 110)} ... ${line.slice(-140)}` : line}`;
}

function first(
  containers: readonly unknown[],
  find: (container: unknown, name: string) => PodTrouble | undefined,
): PodTrouble | undefined {
  for (const container of containers) {
    const found = find(container, textAt(container, 'name') ?? '');
    if (found !== undefined) return found;
  }
  return undefined;
}
