import type { NetworkCondition, RuntimeCondition } from '@kubus/contracts';

/** How long a runtime may be unreachable before the node becomes not ready, in milliseconds, as in the reference (behaviour:pleg). */
const RUNTIME_AWAY_MS = 30_000;

/** What is known about the runtime and the pod network. */
export interface RuntimeView {
  /** The runtime's last condition; undefined: it has not answered since the start. */
  readonly condition: RuntimeCondition | undefined;
  /** Since when it has not answered, in milliseconds since the Unix epoch. */
  readonly awaySince: number | undefined;
  /** The condition last published by cni-bridge. */
  readonly network: NetworkCondition | undefined;
}

/** Whether the runtime itself has reported this condition; that it cannot be reached is reported by cri-bridge. */
export function isAnswer({ ready, reason }: RuntimeCondition): boolean {
  return ready || reason !== 'Unreachable';
}

/** Why no pod can run, with the reference's texts; empty when pods can run (behaviour:node-object, Conditions). */
export function readinessProblems(view: RuntimeView, now: number): readonly string[] {
  return [...runtimeProblems(view, now), ...networkProblems(view)];
}

function runtimeProblems({ condition, awaySince }: RuntimeView, now: number): readonly string[] {
  if (condition === undefined) return ['container runtime status check may not have completed yet'];
  if (awaySince !== undefined && now - awaySince >= RUNTIME_AWAY_MS) return ['container runtime is down'];
  if (condition.ready) return [];
  const { reason = '', message = '' } = condition;
  return [`container runtime not ready: RuntimeReady=false reason:${reason} message:${message}`];
}

function networkProblems({ condition, network }: RuntimeView): readonly string[] {
  if (condition === undefined) return ['network state unknown'];
  const word =
    condition.network === 'cni-bridge'
      ? network
      : { ready: condition.networkReady, reason: condition.networkReason, message: condition.networkMessage };
  if (word === undefined) return ['network state unknown'];
  if (word.ready) return [];
  const { reason = '', message = '' } = word;
  return [`container runtime network not ready: NetworkReady=false reason:${reason} message:${message}`];
}
