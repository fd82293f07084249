/** When an unchanged status is written. */
export interface ReportPlan {
  /** When it was last written, in milliseconds since the Unix epoch; undefined: not since this start. */
  readonly writtenAt: number | undefined;
  /** By how much the next report is later than usual, in milliseconds; negative: earlier. */
  readonly delayMs: number;
}

export const noReport: ReportPlan = { writtenAt: undefined, delayMs: 0 };

/**
 * Whether an unchanged status has to be written: it has not been written for the usual period. A restart alone is not a reason:
 * a write of an earlier epoch counts by the time of its heartbeat.
 *
 * @param heartbeat when the Ready condition was last written, in milliseconds since the Unix epoch
 */
export function isReportDue(plan: ReportPlan, now: number, everyMs: number, heartbeat: number | undefined): boolean {
  const last = plan.writtenAt ?? heartbeat;
  return last === undefined || now - last >= everyMs + plan.delayMs;
}

/**
 * The plan after a write. After a change the next report is up to half the usual period earlier or later, so that nodes that
 * were started together do not continue to report together (behaviour:node-object, Periods).
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
