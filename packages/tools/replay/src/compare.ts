import { HEADER, type WireMessage } from '@kubus/bus';
import type { Change } from './report.ts';

/** Headers that contain only times, which differ whenever the clock was read at another time. */
export const timeHeaders: readonly string[] = [HEADER.time, HEADER.received];

/** The differences between two messages, except headers in `ignored`. Payloads are compared by value. */
export function changesBetween(
  expected: WireMessage,
  got: WireMessage,
  ignored: readonly string[] = [],
): readonly Change[] {
  const changes: Change[] = [];
  const note = (where: string, one: unknown, other: unknown) => {
    if (one !== other) changes.push({ where, expected: one, got: other });
  };
  note('subject', expected.subject, got.subject);
  for (const name of new Set([...Object.keys(expected.headers), ...Object.keys(got.headers)])) {
    if (!ignored.includes(name)) note(`header ${name}`, expected.headers[name], got.headers[name]);
  }
  if (expected.data !== got.data) compare('', parse(expected.data), parse(got.data), changes);
  return changes;
}

/** A payload as JSON; undefined when it is empty, its text when it is not JSON. */
export function parse(data: string): unknown {
  if (data === '') return undefined;
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}

function compare(pointer: string, expected: unknown, got: unknown, changes: Change[]): void {
  if (expected === got) return;
  const [one, other] = [membersOf(expected), membersOf(got)];
  if (one === undefined || other === undefined || Array.isArray(expected) !== Array.isArray(got)) {
    changes.push({ where: pointer === '' ? '/' : pointer, expected, got });
    return;
  }
  for (const name of new Set([...one.keys(), ...other.keys()])) {
    const below = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    compare(below, one.get(name), other.get(name), changes);
  }
}

function membersOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : undefined;
}
