/** A version of CSI, as numbers. */
export type CsiVersion = readonly [major: number, minor: number, patch: number];

/**
 * The highest supported version: every 1.x, and, as in the reference kubelet, 0.x, which no driver implements any more
 * but some still announce. Undefined if there is none.
 */
export function highestVersion(versions: readonly string[]): CsiVersion | undefined {
  const spoken = versions.flatMap((text) => parse(text) ?? []).filter(([major]) => major <= 1);
  return spoken.sort(compareVersions).at(-1);
}

/** Negative when `a` is lower. */
export function compareVersions(a: CsiVersion, b: CsiVersion): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

function parse(text: string): [CsiVersion] | undefined {
  const match = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text);
  return match === null ? undefined : [[Number(match[1]), Number(match[2]), Number(match[3] ?? 0)]];
}
