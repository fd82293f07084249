/** How long a health counts whose driver says nothing about it, in seconds, as in the reference kubelet. */
const DEFAULT_SECONDS = 30;
/** A day: no health that is older says anything. */
const MOST_SECONDS = 86_400;
/** Of a message, in characters (v1.ResourceHealthMessageMaxLength). */
const LONGEST = 1024;

/** What a driver reports about a device. */
export interface HealthReport {
  readonly pool: string;
  readonly device: string;
  /** Undefined: the driver does not know. */
  readonly health: 'Healthy' | 'Unhealthy' | undefined;
  readonly message: string;
  /** After so many seconds without a report it is unknown; not positive: after 30. */
  readonly timeoutSeconds: number;
}

interface KnownHealth extends Pick<HealthReport, 'health' | 'message'> {
  /** In milliseconds of the clock. */
  readonly until: number;
}

/** The health of a driver's devices, as far as it counts. Values never change. */
export type DriverHealth = ReadonlyMap<string, KnownHealth>;

/** What is known after a report; a device that is not in it stays as it is until its time-out (KEP-4680). */
export function withReports(known: DriverHealth, reports: readonly HealthReport[], now: number): DriverHealth {
  const next = new Map(withoutStale(known, now));
  for (const { pool, device, health, message, timeoutSeconds } of reports) {
    const seconds = timeoutSeconds > 0 ? Math.min(timeoutSeconds, MOST_SECONDS) : DEFAULT_SECONDS;
    const shown = message.length > LONGEST ? `${message.slice(0, LONGEST - 3)}...` : message;
    next.set(keyOf(pool, device), { health, message: shown, until: now + seconds * 1000 });
  }
  return next;
}

/** What is still known at a time. */
export function withoutStale(known: DriverHealth, now: number): DriverHealth {
  return new Map([...known].filter(([, { until }]) => until > now));
}

/** When the next health is no longer known; undefined: none is known. */
export function nextStale(known: DriverHealth): number | undefined {
  const times = [...known.values()].map(({ until }) => until);
  return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b));
}

/** Whether both say the same of each device. */
export function isSameHealth(one: DriverHealth, other: DriverHealth): boolean {
  const keys = new Set([...one.keys(), ...other.keys()]);
  return [...keys].every((key) => {
    const [a, b] = [one.get(key), other.get(key)];
    return a?.health === b?.health && (a?.message ?? '') === (b?.message ?? '');
  });
}

/** The fields that a device of a claim has for its health. */
export function healthOf(
  known: DriverHealth,
  { pool, device }: { readonly pool: string; readonly device: string },
): { health?: 'Healthy' | 'Unhealthy'; healthMessage?: string } {
  const { health, message = '' } = known.get(keyOf(pool, device)) ?? {};
  return { ...(health !== undefined && { health }), ...(message !== '' && { healthMessage: message }) };
}

function keyOf(pool: string, device: string): string {
  return `${pool}/${device}`;
}
