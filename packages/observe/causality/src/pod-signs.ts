import { CONFIG_MIRROR, bareType, configEvent, podStatus, podWorker, typeOf } from '@kubus/contracts';
import { troubleOf } from './pod-trouble.ts';
import { textAt, valueAt } from './summary.ts';

/** The parts of a message that a pod's summary and its paths are made of. */
export interface PodSigns {
  readonly namespace?: string;
  readonly name?: string;
  /** Of a source: it has added or removed the pod. */
  readonly wanted?: boolean;
  readonly phase?: string;
  readonly ready?: boolean;
  readonly worker?: string;
  /** The reason of {@link troubleOf}; empty where nothing is wrong. */
  readonly trouble?: string;
  /** Of a pod that its source does not pass on, since another has its name or UID; null: it does. */
  readonly refused?: { readonly namespace?: string; readonly name?: string } | null;
  /** It is the mirror in the API of a static pod: that one has the story. */
  readonly mirror?: true;
  /** Its worker's last sync failed, and is tried again. */
  readonly retried?: boolean;
}

const status = bareType(typeOf(podStatus));
const worker = bareType(typeOf(podWorker));
const sourceEvent = bareType(typeOf(configEvent));

/** The reason of the event about a pod that its source does not pass on. */
export const REFUSED = 'FailedValidation';

/** The facts of the sources about one pod. */
const ofSource = /^config\.fact\.(file|http|api)$/;

/** Whether the signs of a message contain more than the pod's name. */
export function hasSigns(type: string): boolean {
  return type === status || type === worker || type === sourceEvent || ofSource.test(type);
}

/** Of a fact or an event; undefined for one without them. `type`: without its version. `removed`: the fact was removed. */
export function signsOf(type: string, removed: boolean, payload: unknown): PodSigns | undefined {
  if (ofSource.test(type)) {
    if (isMirror(payload)) return { mirror: true, ...named(valueAt(payload, 'pod.metadata')) };
    const leaves = removed || textAt(payload, 'pod.metadata.deletionTimestamp') !== undefined;
    return { wanted: !leaves, refused: null, ...named(valueAt(payload, 'pod.metadata')) };
  }
  if (removed) return undefined;
  if (type === sourceEvent) {
    return textAt(payload, 'reason') === REFUSED ? { refused: named(valueAt(payload, 'ref')) } : undefined;
  }
  const ref = named(valueAt(payload, 'ref'));
  if (type === worker) {
    return { ...ref, ...optional('worker', textAt(payload, 'state')), retried: textAt(payload, 'error') !== undefined };
  }
  if (type !== status) return 'name' in ref ? ref : undefined;
  const trouble = troubleOf(valueAt(payload, 'status'))?.reason ?? '';
  return { ...ref, ...optional('phase', textAt(payload, 'status.phase')), ready: isReady(payload), trouble };
}

function isMirror(payload: unknown): boolean {
  const annotations = valueAt(payload, 'pod.metadata.annotations');
  return typeof annotations === 'object' && annotations !== null && CONFIG_MIRROR in annotations;
}

function isReady(payload: unknown): boolean {
  const conditions = valueAt(payload, 'status.conditions');
  if (!Array.isArray(conditions)) return false;
  return conditions.some((one) => valueAt(one, 'type') === 'Ready' && valueAt(one, 'status') === 'True');
}

function named(ref: unknown): Pick<PodSigns, 'namespace' | 'name'> {
  return { ...optional('namespace', textAt(ref, 'namespace')), ...optional('name', textAt(ref, 'name')) };
}

function optional<Name extends string>(name: Name, value: string | undefined): { [K in Name]?: string } {
  return (value === undefined ? {} : { [name]: value }) as { [K in Name]?: string };
}
