import { joinErrors } from '@kubus/contracts';
import type { NodeCondition } from './node-object.ts';

/** Resources that are scarce on the node. */
interface Pressure {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

export interface ConditionInput {
  readonly pressure: Pressure;
  /** Why the node cannot run pods; empty: it can run them. */
  readonly problems: readonly string[];
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

/** The conditions, and the reasons of the events about their changes. */
export interface Conditions {
  readonly conditions: readonly NodeCondition[];
  readonly events: readonly string[];
}

interface Words {
  readonly type: string;
  readonly pressed: (pressure: Pressure) => boolean;
  /** Reason and message with and without the pressure. The reason of the event is that of the condition, applied to the node. */
  readonly yes: readonly [reason: string, message: string];
  readonly no: readonly [reason: string, message: string];
}

/** In the order in which they are written; Ready comes after them. */
const PRESSURES: readonly Words[] = [
  {
    type: 'MemoryPressure',
    pressed: ({ memory }) => memory,
    yes: ['KubeletHasInsufficientMemory', 'kubelet has insufficient memory available'],
    no: ['KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  },
  {
    type: 'DiskPressure',
    pressed: ({ disk }) => disk,
    yes: ['KubeletHasDiskPressure', 'kubelet has disk pressure'],
    no: ['KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  },
  {
    type: 'PIDPressure',
    pressed: ({ pid }) => pid,
    yes: ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available'],
    no: ['KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
  },
];

/**
 * The conditions that the node sets, merged with those that others have set (behaviour:node-object, Conditions). Reason and
 * message of a pressure stay unchanged while its status does; the time of the last transition changes only with the status.
 */
export function nodeConditions(existing: readonly NodeCondition[], input: ConditionInput): Conditions {
  const conditions = [...existing];
  const events: string[] = [];
  const put = (condition: NodeCondition) => {
    const index = conditions.findIndex(({ type }) => type === condition.type);
    if (index === -1) conditions.push(condition);
    else conditions[index] = condition;
  };
  const { now, pressure, problems } = input;
  for (const { type, pressed, yes, no } of PRESSURES) {
    const status = pressed(pressure) ? 'True' : 'False';
    const [reason, message] = status === 'True' ? yes : no;
    const before = existing.find((one) => one.type === type);
    if (before?.status === status) put({ ...before, lastHeartbeatTime: now });
    else {
      put({ type, status, lastHeartbeatTime: now, lastTransitionTime: now, reason, message });
      events.push(reason.replace(/^Kubelet/, 'Node'));
    }
  }
  const ready = readyCondition(problems, now);
  const before = existing.find(({ type }) => type === ready.type);
  const changed = before?.status !== ready.status;
  put(changed ? ready : { ...ready, lastTransitionTime: before.lastTransitionTime });
  if (changed && before !== undefined) events.push(ready.status === 'True' ? 'NodeReady' : 'NodeNotReady');
  return { conditions, events };
}

function readyCondition(problems: readonly string[], now: string): NodeCondition {
  const isReady = problems.length === 0;
  return {
    type: 'Ready',
    status: isReady ? 'True' : 'False',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
    reason: isReady ? 'KubeletReady' : 'KubeletNotReady',
    message: isReady ? 'kubelet is posting ready status' : joinErrors(problems),
  };
}
