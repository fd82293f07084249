const thin = '\u202f';

/** `0.42 ms`, `12.3 ms`, `351 ms`, `4.21 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  const size = Math.abs(ms);
  if (size < 0.0005) return `0${thin}ms`;
  if (size < 1) return `${ms.toFixed(2)}${thin}ms`;
  if (size < 99.95) return `${ms.toFixed(1)}${thin}ms`;
  if (size < 999.5) return `${Math.round(ms)}${thin}ms`;
  if (size < 59_995) return `${(ms / 1000).toFixed(2)}${thin}s`;
  const seconds = Math.round(size / 1000);
  const sign = ms < 0 ? '−' : '';
  if (seconds < 3600) return `${sign}${Math.floor(seconds / 60)}${thin}min ${seconds % 60}${thin}s`;
  return `${sign}${Math.floor(seconds / 3600)}${thin}h ${Math.floor((seconds % 3600) / 60)}${thin}min`;
}

/** With a sign: `+12.3 ms`, `−0.50 ms`. */
export function difference(ms: number): string {
  return `${ms < 0 ? '−' : '+'}${duration(Math.abs(ms))}`;
}

/** `1 234 567`: digits in groups of three. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, thin);
}

/** `0`, `0.4`, `12.3`, `1 204`: per second. */
export function rate(perSecond: number): string {
  if (perSecond === 0) return '0';
  return perSecond < 99.95 ? perSecond.toFixed(1) : count(perSecond);
}

/** `912 B`, `4.3 kB`, `9.1 MB`. */
export function bytes(size: number): string {
  if (size < 1000) return `${size}${thin}B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length, Math.floor(Math.log10(size) / 3));
  return `${(size / 1000 ** power).toFixed(1)}${thin}${units[power - 1] ?? ''}`;
}

/** `1 pod`, `3 pods`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)}${thin}${value === 1 ? one : many}`;
}
