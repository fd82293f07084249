import type { WireMessage } from '@kubus/bus';
import type { Logger } from '@kubus/ports';
import type { Violation } from './invariants.ts';
import type { Mutations, Placement, SimulatedService } from './simulated-process.ts';

export interface ScheduleOptions {
  readonly seed: number;
  readonly mutations?: Mutations;
  readonly logger: Logger;
  /** Many late messages, and a crash after many commands: for rare errors. */
  readonly rough?: boolean;
  /** Includes every message in the trace; for examining one seed. */
  readonly traceMessages?: boolean;
  /** The services that keep journals. */
  readonly journaled?: readonly SimulatedService[];
  /** Which services share a process. Default: drawn from the seed; with journals none. */
  readonly placement?: Placement;
  /** Whether containers get CPUs, memory and devices for themselves. Default: drawn from the seed; with journals none do. */
  readonly exclusive?: boolean;
  /** Whether the node has an API server. Default: drawn from the seed; with journals it has none. */
  readonly cluster?: boolean;
  /** Receives every message that the broker accepts. */
  readonly record?: (message: WireMessage) => void;
}

export interface ScheduleResult {
  readonly seed: number;
  readonly violations: readonly Violation[];
  /** The number of steps that the schedule took, and its virtual duration in milliseconds. */
  readonly steps: number;
  readonly elapsedMs: number;
  /** The disturbances of the node and, if requested, every message, in order. */
  readonly trace: readonly string[];
}
