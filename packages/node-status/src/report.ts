/** When the status is written although nothing has changed. */
export interface ReportPlan {
  /** Milliseconds since the Unix epoch: when it was last written; undefined: not in this life. */
  readonly writtenAt: number | undefined;
  /** Milliseconds by which the next report is later than usual, or earlier. */
  readonly delayMs: number;
}

export const noReport: ReportPlan = { writtenAt: undefined, delayMs: 0 };

/**
 * Whether an unchanged status has to be written: nobody has heard of it for the usual time. A restart alone is no reason:
 * what an earlier life has written counts by the time of its heartbeat.
 *
 * @param heartbeat when the Ready condition was last written, in milliseconds since the Unix epoch
 */
export function isReportDue(plan: ReportPlan, now: number, everyMs: number, heartbeat: number | undefined): boolean {
  const last = plan.writtenAt ?? heartbeat;
  return last === undefined || now - last >= everyMs + plan.delayMs;
}

/**
 * The plan after a write. After a change the next report is up to half the usual time earlier or later, so that nodes that
 * were started together do not go on reporting together (kubelet behaviour 1.16, Periods).
 *
 * @param fraction random, in [0, 1)
 */
export function planAfterWrite(
  before: ReportPlan,
  { changed, now, everyMs, fraction }: { changed: boolean; now: number; everyMs: number; fraction: number },
): ReportPlan {
  const spread = changed || before.writtenAt === undefined;
  return { writtenAt: now, delayMs: spread ? everyMs * (fraction - 0.5) : 0 };
}
