const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** Milliseconds as kubectl shows an age: `5s`, `3m12s`, `4h5m`, `2d`; the larger it is, the fewer of its parts. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const whole = (unit: number, letter: string) => `${Math.floor(seconds / unit)}${letter}`;
  const rest = (within: number, unit: number, letter: string) => {
    const count = Math.floor((seconds % within) / unit);
    return count === 0 ? '' : `${count}${letter}`;
  };
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 10 * MINUTE) return whole(MINUTE, 'm') + rest(MINUTE, 1, 's');
  if (seconds < 3 * HOUR) return whole(MINUTE, 'm');
  if (seconds < 8 * HOUR) return whole(HOUR, 'h') + rest(HOUR, MINUTE, 'm');
  if (seconds < 2 * DAY) return whole(HOUR, 'h');
  if (seconds < 8 * DAY) return whole(DAY, 'd') + rest(DAY, HOUR, 'h');
  if (seconds < 2 * YEAR) return whole(DAY, 'd');
  if (seconds < 8 * YEAR) return whole(YEAR, 'y') + rest(YEAR, DAY, 'd');
  return whole(YEAR, 'y');
}
