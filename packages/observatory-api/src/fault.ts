import { type FaultRule, faultRuleSchema, instanceName, serviceFaultSchema } from '@kubus/contracts';
import type * as z from 'zod';

/** What is to be done to messages: a rule as the launcher takes it (docs/experiments.md). Without a name it gets one. */
export const newFaultSchema = faultRuleSchema.partial({ id: true });
export type NewFault = z.input<typeof newFaultSchema>;

/** The service, or the instance, that is to be disturbed. It is not the one that is asked: it could not answer. */
export const disturbedNameSchema = instanceName.refine((name) => !/^observatory(-|$)/.test(name), {
  error: 'the observatory does not disturb itself: use ./kubus fault',
});

/** What is to be done to a service. */
export const newServiceFaultSchema = serviceFaultSchema;
export type NewServiceFault = z.input<typeof newServiceFaultSchema>;

/** What is done on purpose to the node now. */
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
  /** When it ends by itself, where that was said. */
  readonly ends?: number;
  /** To how many messages it has been applied, as far as they have been recorded. */
  readonly acted: number;
  /** When that was recorded last. */
  readonly actedAt?: number;
}

/** A process that stands still. */
export interface PauseDocument {
  readonly instance: string;
  readonly since: number;
  readonly ends: number;
}
