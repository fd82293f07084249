import type { NetworkCondition, RuntimeCondition } from '@kubus/contracts';

/** How long a runtime may be away before the node is not ready any more, as in the reference (kubelet behaviour 1.10). */
export const RUNTIME_AWAY_MS = 30_000;

/** What is known of the runtime and the network of the pods. */
export interface RuntimeView {
  /** What the runtime said last when it answered; undefined: it has not answered since the start. */
  readonly condition: RuntimeCondition | undefined;
  /** Milliseconds since the Unix epoch: since when it does not answer. */
  readonly awaySince: number | undefined;
  /** What cni-bridge said last. */
  readonly network: NetworkCondition | undefined;
}

/** A runtime that has said nothing of itself: that it can not be reached says cri-bridge. */
export function isAnswer({ ready, reason }: RuntimeCondition): boolean {
  return ready || reason !== 'Unreachable';
}

/** Why no pod can be run; empty when pods can (kubelet behaviour 1.16, Conditions). The reference's words. */
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
