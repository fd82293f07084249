import type { HealthCheck } from './health-checks.ts';

export interface HealthAnswer {
  readonly ok: boolean;
  /**
   * In the words of the reference; the reason of a failed check is only shown when that check is requested on its own.
   */
  readonly text: string;
  /** The problems, for the log. */
  readonly problems: readonly string[];
}

/** /healthz: all checks except the excluded ones; one line for each check when that is requested, and when one fails. */
export async function healthAnswer(
  checks: readonly HealthCheck[],
  { excluded, verbose }: { readonly excluded: readonly string[]; readonly verbose: boolean },
): Promise<HealthAnswer> {
  const results = await Promise.all(
    checks.map(async ({ name, check }) => {
      if (excluded.includes(name)) return { line: `[+]${name} excluded: ok\n`, problem: undefined };
      const problem = await check();
      if (problem === undefined) return { line: `[+]${name} ok\n`, problem };
      return { line: `[-]${name} failed: reason withheld\n`, problem: `${name}: ${problem}` };
    }),
  );
  const unknown = excluded.filter((name) => !checks.some((check) => check.name === name)).sort();
  const names = unknown.map((name) => JSON.stringify(name)).join(',');
  const warning = unknown.length === 0 ? '' : `warn: some health checks cannot be excluded: no matches for ${names}\n`;
  const lines = results.map(({ line }) => line).join('') + warning;
  const problems = results.flatMap(({ problem }) => problem ?? []);
  if (problems.length > 0) return { ok: false, text: `${lines}healthz check failed\n`, problems };
  return { ok: true, text: verbose ? `${lines}healthz check passed\n` : 'ok', problems };
}

/** A single check. */
export async function checkAnswer({ name, check }: HealthCheck): Promise<HealthAnswer> {
  const problem = await check();
  if (problem === undefined) return { ok: true, text: 'ok', problems: [] };
  return { ok: false, text: `internal server error: ${problem}\n`, problems: [`${name}: ${problem}`] };
}
