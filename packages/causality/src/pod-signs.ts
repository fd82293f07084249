import { HEADER } from '@kubus/bus';
import { bareType, podStatus, podWorker, typeOf } from '@kubus/contracts';
import type { ReadMessage } from './brief.ts';
import { textAt, valueAt } from './summary.ts';

/** What a message says that a pod's summary and its paths are made of. */
export interface PodSigns {
  readonly namespace?: string;
  readonly name?: string;
  /** Of a source: it wants the pod, or wants it to go. */
  readonly wanted?: boolean;
  readonly phase?: string;
  readonly ready?: boolean;
  readonly worker?: string;
}

const status = bareType(typeOf(podStatus));
const worker = bareType(typeOf(podWorker));

/** The facts of the sources about one pod. */
const ofSource = /^config\.fact\.(file|http|api)$/;

/** Undefined for a message that says nothing of it. */
export function signsOf({ brief, recorded, payload }: ReadMessage): PodSigns | undefined {
  if (brief.kind !== 'fact') return undefined;
  const removed = recorded.message.headers[HEADER.removed] !== undefined;
  const type = bareType(brief.type);
  if (ofSource.test(type)) {
    const leaves = removed || textAt(payload, 'pod.metadata.deletionTimestamp') !== undefined;
    return { wanted: !leaves, ...named(valueAt(payload, 'pod.metadata')) };
  }
  if (removed) return undefined;
  const ref = named(valueAt(payload, 'ref'));
  if (type === worker) return { ...ref, ...told('worker', textAt(payload, 'state')) };
  if (type !== status) return 'name' in ref ? ref : undefined;
  return { ...ref, ...told('phase', textAt(payload, 'status.phase')), ready: isReady(payload) };
}

function isReady(payload: unknown): boolean {
  const conditions = valueAt(payload, 'status.conditions');
  if (!Array.isArray(conditions)) return false;
  return conditions.some((one) => valueAt(one, 'type') === 'Ready' && valueAt(one, 'status') === 'True');
}

function named(ref: unknown): Pick<PodSigns, 'namespace' | 'name'> {
  return { ...told('namespace', textAt(ref, 'namespace')), ...told('name', textAt(ref, 'name')) };
}

function told<Name extends string>(name: Name, value: string | undefined): { [K in Name]?: string } {
  return (value === undefined ? {} : { [name]: value }) as { [K in Name]?: string };
}
