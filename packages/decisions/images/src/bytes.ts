const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'];

/** `512 B`, `10.0 GiB`: sizes in the format of the reference's events. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  let size = bytes / 1024;
  let unit = 0;
  for (; size >= 1024 && unit < UNITS.length - 1; unit++) size /= 1024;
  return `${size.toFixed(1)} ${UNITS[unit] ?? ''}`;
}
