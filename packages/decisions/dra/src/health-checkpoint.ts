import { goJson, parsedJson } from '@kubus/pod';
import * as z from 'zod';
import { type DriverHealth, type KnownHealth, driverHealth, withoutStale } from './device-health.ts';
import type { ClaimProblem } from './pod-claims.ts';

const NANOSECONDS = 1e9;

/** The health of devices, by driver. */
export type NodeHealth = ReadonlyMap<string, DriverHealth>;

const fileSchema = z.record(
  z.string(),
  z.object({
    Devices: z
      .record(
        z.string(),
        z.object({
          PoolName: z.string(),
          DeviceName: z.string(),
          Health: z.string(),
          LastUpdated: z.string(),
          HealthCheckTimeout: z.number().nonnegative(),
          Message: z.string(),
        }),
      )
      .nullish(),
  }),
);

/** The text of the reference kubelet's `dra_health_state` (1.36). */
export function healthCheckpoint(known: NodeHealth): string {
  const sorted = <T>(all: ReadonlyMap<string, T>) => [...all].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const drivers = sorted(known).map(([driver, devices]) => [
    driver,
    { Devices: Object.fromEntries(sorted(devices).map(([key, one]) => [key, deviceText(one)])) },
  ]);
  return goJson(Object.fromEntries(drivers));
}

/** What of a `dra_health_state` still counts at a time, in milliseconds, or why it says nothing. */
export function parseHealthCheckpoint(text: string, now: number): NodeHealth | ClaimProblem {
  const file = fileSchema.safeParse(parsedJson(text));
  if (!file.success) return { problem: `it is not the health of devices: ${file.error.issues[0]?.message}` };
  const drivers = Object.entries(file.data).map(([driver, { Devices }]): [string, DriverHealth] => {
    const devices = Object.values(Devices ?? {}).map((one): KnownHealth => {
      const { PoolName: pool, DeviceName: device, Health: health, Message: message } = one;
      return {
        ...{ pool, device, message, timeoutSeconds: one.HealthCheckTimeout / NANOSECONDS },
        health: health === 'Healthy' || health === 'Unhealthy' ? health : undefined,
        reported: Date.parse(one.LastUpdated),
      };
    });
    // A time in the future would count too long.
    const past = devices.filter(({ reported }) => reported <= now);
    return [driver, withoutStale(driverHealth(past), now)];
  });
  return new Map(drivers.filter(([, devices]) => devices.size > 0));
}

function deviceText({ pool, device, health, reported, timeoutSeconds, message }: KnownHealth) {
  return {
    PoolName: pool,
    DeviceName: device,
    Health: health ?? 'Unknown',
    LastUpdated: new Date(reported).toISOString(),
    HealthCheckTimeout: timeoutSeconds * NANOSECONDS,
    Message: message,
  };
}
