import { SYSTEM_PRIORITY } from '@kubus/pod';
import type { KubeletConfiguration } from './field-table.ts';
import type { GateSettings } from './gates.ts';

/** The priority of pods without a class (pkg/apis/scheduling). */
const DEFAULT_PRIORITY = 0;

/** What happens when the machine shuts down. */
export interface NodeShutdown {
  /** How long the pods of each priority get, lowest first; at least one. */
  readonly periods: readonly { readonly priority: number; readonly seconds: number }[];
  /** The times of the last shutdown are kept and measured (the gate GracefulNodeShutdownBasedOnPodPriority). */
  readonly keepTimes: boolean;
}

/** How the node shuts down, for a checked configuration; undefined: pods end with the machine (behaviour:node-shutdown). */
export function nodeShutdown(
  config: Pick<
    KubeletConfiguration,
    'shutdownGracePeriod' | 'shutdownGracePeriodCriticalPods' | 'shutdownGracePeriodByPodPriority'
  >,
  gates: Pick<GateSettings, 'enabled'>,
): NodeShutdown | undefined {
  if (!gates.enabled('GracefulNodeShutdown')) return undefined;
  const keepTimes = gates.enabled('GracefulNodeShutdownBasedOnPodPriority');
  const { shutdownGracePeriod: all, shutdownGracePeriodCriticalPods: critical } = config;
  const byPriority = keepTimes ? config.shutdownGracePeriodByPodPriority : [];
  const periods = byPriority.map((one) => ({
    priority: one.priority ?? 0,
    seconds: one.shutdownGracePeriodSeconds ?? 0,
  }));
  if (periods.length === 0 && all > 0) {
    periods.push(
      { priority: DEFAULT_PRIORITY, seconds: Math.trunc((all - critical) / 1000) },
      { priority: SYSTEM_PRIORITY, seconds: Math.trunc(critical / 1000) },
    );
  }
  if (periods.length === 0) return undefined;
  return { periods: periods.sort((a, b) => a.priority - b.priority), keepTimes };
}
