const two = (value: number): string => String(value).padStart(2, '0');

/** `14:03:09.250`, in the user's time zone. */
export function clock(at: number): string {
  const date = new Date(at);
  return `${clockSeconds(at)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** `14:03:09` */
export function clockSeconds(at: number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** `2026-03-01 14:03` */
export function dateAndTime(at: number): string {
  const date = new Date(at);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** `12 s`, `5 min`, `3 h`, `2 d`: how long ago, in one unit. */
export function age(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
