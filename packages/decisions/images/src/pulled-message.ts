import { formatGoDuration } from '@kubus/pod';

/** The message of the event Pulled after a pull (behaviour:images). Times are in milliseconds; `bytes` as reported by the runtime. */
export function pulledMessage(image: string, times: { pullMs: number; wholeMs: number }, bytes: string): string {
  const [pull, whole] = [times.pullMs, times.wholeMs].map(formatElapsed);
  return `Successfully pulled image "${image}" in ${pull} (${whole} including waiting). Image size: ${bytes} bytes.`;
}

/** Whole milliseconds in the reference's format. */
function formatElapsed(ms: number): string {
  return formatGoDuration(Math.max(0, Math.floor(ms)));
}
