/** How long a health counts whose driver says nothing about it, in seconds, as in the reference kubelet. */
const DEFAULT_SECONDS = 30;
/** A day: no health that is older says anything. */
const MOST_SECONDS = 86_400;
/** Devices of a driver of which the health is known: more than a driver has on a node. */
const MOST_DEVICES = 16_384;
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

/** What counts of a report until its time-out. */
export interface KnownHealth extends HealthReport {
  /** When it was reported, in milliseconds of the clock. */
  readonly reported: number;
}

/** The health of a driver's devices, as far as it counts. Values never change. */
export type DriverHealth = ReadonlyMap<string, KnownHealth>;

/** What is known after a report; a device that is not in it stays as it is until its time-out (KEP-4680). */
export function withReports(known: DriverHealth, reports: readonly HealthReport[], now: number): DriverHealth {
  return driverHealth([
    ...withoutStale(known, now).values(),
    ...reports.map(({ message, timeoutSeconds, ...one }) => ({
      ...one,
      timeoutSeconds: timeoutSeconds > 0 ? Math.min(timeoutSeconds, MOST_SECONDS) : DEFAULT_SECONDS,
      message: message.length > LONGEST ? `${message.slice(0, LONGEST - 3)}...` : message,
      reported: now,
    })),
  ]);
}

/** The newest of each device; of too many devices those that were reported last. */
export function driverHealth(healths: readonly KnownHealth[]): DriverHealth {
  const newest = new Map<string, KnownHealth>();
  for (const one of healths) {
    const key = keyOf(one.pool, one.device);
    newest.delete(key);
    newest.set(key, one);
  }
  return newest.size > MOST_DEVICES ? new Map([...newest].slice(-MOST_DEVICES)) : newest;
}

/** What is still known at a time. */
export function withoutStale(known: DriverHealth, now: number): DriverHealth {
  return new Map([...known].filter(([, one]) => staleAt(one) > now));
}

/** When the next health is no longer known; undefined: none is known. */
export function nextStale(known: DriverHealth): number | undefined {
  const times = [...known.values()].map(staleAt);
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

function staleAt({ reported, timeoutSeconds }: KnownHealth): number {
  return reported + timeoutSeconds * 1000;
}

function keyOf(pool: string, device: string): string {
  return `${pool}/${device}`;
}
