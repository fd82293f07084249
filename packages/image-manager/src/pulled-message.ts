/** The event Pulled after a pull (kubelet behaviour 1.8). Times in milliseconds; `bytes` as the runtime tells them. */
export function pulledMessage(image: string, times: { pullMs: number; wholeMs: number }, bytes: string): string {
  const [pull, whole] = [times.pullMs, times.wholeMs].map(formatElapsed);
  return `Successfully pulled image "${image}" in ${pull} (${whole} including waiting). Image size: ${bytes} bytes.`;
}

/** `0s`, `523ms`, `1.5s`, `2m3.25s`, `1h0m0s`: whole milliseconds as the reference writes them. */
export function formatElapsed(ms: number): string {
  const whole = Math.max(0, Math.floor(ms));
  if (whole === 0) return '0s';
  if (whole < 1000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = `${(whole % 60_000) / 1000}s`;
  if (minutes === 0) return seconds;
  return minutes < 60 ? `${minutes}m${seconds}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}`;
}
