import { type FaultRule, faultRuleSchema, instanceName, serviceFaultSchema } from '../messages/fault.ts';
import type * as z from 'zod';

/** A fault of messages: a rule as the launcher accepts it (docs/experiments.md). Default name: a generated one. */
export const newFaultSchema = faultRuleSchema.partial({ id: true });
export type NewFault = z.input<typeof newFaultSchema>;

/** The service or instance to disturb. The observatory itself is excluded, because it could not answer the request. */
export const disturbedNameSchema = instanceName.refine((name) => !/^observatory(-|$)/.test(name), {
  error: 'the observatory cannot disturb itself: use ./kubus fault',
});

/** A fault of a service. */
export const newServiceFaultSchema = serviceFaultSchema;
export type NewServiceFault = z.input<typeof newServiceFaultSchema>;

/** The faults that are active on the node now. */
export interface FaultsDocument {
  /** The oldest first. */
  readonly rules: readonly FaultDocument[];
  readonly pauses: readonly PauseDocument[];
}

export interface FaultDocument {
  readonly rule: FaultRule;
  /** The rule as one line for people. */
  readonly text: string;
  readonly since: number;
  /** When it ends by itself, where that was specified. */
  readonly ends?: number;
  /** The number of messages to which it has been applied, as far as recorded. */
  readonly acted: number;
  /** When that was last recorded. */
  readonly actedAt?: number;
}

/** A paused process. */
export interface PauseDocument {
  readonly instance: string;
  readonly since: number;
  readonly ends: number;
}
