import type { Bus } from '@kubus/bus';
import { pressureDocument } from '@kubus/causality';
import { readPressure } from '@kubus/contracts';
import type { PressureDocument } from '@kubus/contracts/observatory';
import type { Clock } from '@kubus/ports';
import { answered } from './answered.ts';

/** Reads what the node has left, with the readings of the last minutes; the pods are ranked for `signal`, or for the nearest to its threshold. */
export type ReadPressure = (signal: string | undefined) => Promise<PressureDocument>;

/** Asks node-agent. Rejects with a RequestError. */
export function nodePressureReader(bus: Bus, clock: Clock): ReadPressure {
  return async (signal) => {
    const request = { readings: true, ...(signal !== undefined && { signal }) };
    const asked = bus.call(readPressure, bus.node, request);
    const silence = 'node-agent does not answer; ./kubus status shows how it is';
    return pressureDocument((await answered(asked, clock, silence)).result);
  };
}
