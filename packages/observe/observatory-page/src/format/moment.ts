import { zoneChoice } from './zone.ts';

const two = (value: number): string => String(value).padStart(2, '0');

/** The date whose fields in UTC are those of the zone that is shown. */
function shown(at: number): Date {
  const date = new Date(at);
  return zoneChoice() === 'UTC' ? date : new Date(at - date.getTimezoneOffset() * 60_000);
}

/** `14:03:09.250`, in the zone that the header names, as all times here. */
export function clock(at: number): string {
  return `${clockSeconds(at)}.${String(shown(at).getUTCMilliseconds()).padStart(3, '0')}`;
}

/** `14:03:09` */
export function clockSeconds(at: number): string {
  const date = shown(at);
  return `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`;
}

/** `2026-03-01 14:03` */
export function dateAndTime(at: number): string {
  const date = shown(at);
  const day = `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`;
  return `${day} ${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`;
}

/** `12 s`, `5 min`, `3 h`, `2 d`: how long ago, in one unit. */
export function age(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
