/** How long a service may take to answer, in milliseconds. */
export const ANSWER_MS = 1_000;

/** The failed checks of a service's /readyz, each as `NAME: TEXT`. @param address undefined for a service without one */
export async function readiness(address: string | undefined): Promise<string[]> {
  if (address === undefined) return [];
  try {
    const response = await fetch(`http://${address}/readyz`, { signal: AbortSignal.timeout(ANSWER_MS) });
    const { checks } = (await response.json()) as { checks: Record<string, string> };
    return Object.entries(checks)
      .filter(([, text]) => text !== 'ok')
      .map(([name, text]) => `${name}: ${text}`);
  } catch (error) {
    return [`readiness check failed: ${String(error)}`];
  }
}
