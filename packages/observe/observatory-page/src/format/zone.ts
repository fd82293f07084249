import { useSyncExternalStore } from 'react';

export type ZoneChoice = 'local' | 'UTC';
export const zoneChoices: readonly ZoneChoice[] = ['local', 'UTC'];

const key = 'kubus-observatory-zone';
const listeners = new Set<() => void>();
let choice: ZoneChoice = 'local';

/** Must be called once, before anything is rendered. */
export function startZone(): void {
  choice = zoneChoices.find((one) => one === localStorage.getItem(key)) ?? 'local';
}

export function chooseZone(chosen: ZoneChoice): void {
  choice = chosen;
  localStorage.setItem(key, chosen);
  for (const listener of listeners) listener();
}

export function zoneChoice(): ZoneChoice {
  return choice;
}

function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  return () => listeners.delete(changed);
}

/** In which zone times are shown; everything with a time is rendered again when it changes. */
export function useZoneChoice(): ZoneChoice {
  return useSyncExternalStore(subscribe, zoneChoice);
}

/**
 * The name of a zone for people: `UTC`, `UTC+01:00 Europe/Berlin`.
 *
 * @param offset minutes that the zone is ahead of UTC.
 * @param name the zone's name in the IANA database; undefined where it is not known.
 */
export function zoneName(offset: number, name: string | undefined): string {
  const size = Math.abs(offset);
  const two = (value: number): string => String(value).padStart(2, '0');
  const ahead = offset === 0 ? 'UTC' : `UTC${offset < 0 ? '−' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
  return name === undefined || name === 'UTC' ? ahead : `${ahead} ${name}`;
}

/** The name of the zone in which a time is shown: daylight saving time depends on it. */
export function zoneAt(at: number, shown: ZoneChoice): string {
  if (shown === 'UTC') return zoneName(0, undefined);
  return zoneName(-new Date(at).getTimezoneOffset(), Intl.DateTimeFormat().resolvedOptions().timeZone);
}
