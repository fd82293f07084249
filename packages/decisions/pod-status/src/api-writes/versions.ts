/**
 * Negative when resource version `a` is older than `b`, 0 when they are equal. Versions of one resource are increasing decimal
 * numbers (KEP-5504); if one of them is not a number, `b` counts as newer.
 */
export function compareVersions(a: string | undefined, b: string | undefined): number {
  if (a === b) return 0;
  const [one, other] = [numberOf(a), numberOf(b)];
  return one === undefined || other === undefined || one < other ? -1 : 1;
}

function numberOf(version: string | undefined): bigint | undefined {
  return version !== undefined && /^\d+$/.test(version) ? BigInt(version) : undefined;
}
