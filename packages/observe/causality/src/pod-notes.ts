import { bareType, podStatus, typeOf } from '@kubus/contracts';
import type { ReadMessage } from './brief.ts';
import { type PodTrouble, troubleOf } from './pod-trouble.ts';
import { textAt, valueAt } from './summary.ts';

/** What one message says of what is wrong with its pod. */
export interface PodNote {
  /** Of a status; null where nothing is wrong in it. */
  readonly trouble?: PodTrouble | null;
  /** Of a Kubernetes event that warns. */
  readonly warning?: { readonly reason: string; readonly text: string; readonly count: number };
}

const status = bareType(typeOf(podStatus));
/** The Kubernetes events of all services. */
const recorded = /^\w+\.event\.recorded$/;

/** Warnings about settings of the node that keep no pod from running. */
const harmless = new Set(['MissingClusterDNS', 'DNSConfigForming']);

/** Undefined for a message that says nothing about it. */
export function noteOf({ brief, payload }: ReadMessage): PodNote | undefined {
  const type = bareType(brief.type);
  if (payload === undefined) return undefined;
  if (type === status) return { trouble: troubleOf(valueAt(payload, 'status')) ?? null };
  const reason = textAt(payload, 'reason') ?? '';
  if (!recorded.test(type) || textAt(payload, 'type') !== 'Warning' || harmless.has(reason)) return undefined;
  const count = valueAt(payload, 'count');
  return { warning: { reason, text: textAt(payload, 'message') ?? '', count: typeof count === 'number' ? count : 1 } };
}
