import type { Pod } from '@kubus/contracts';

/**
 * The paths in a volume at which its pod's containers have other mounts: a runtime cannot create these folders in a volume that it
 * mounts read-only. Relative to the volume, only the outermost ones. A string is the reason why a mount is refused.
 */
export function nestedMountPoints({ spec }: Pick<Pod, 'spec'>, volume: string): readonly string[] | string {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const found = new Set<string>();
  for (const { volumeMounts = [] } of containers) {
    const mounts = volumeMounts.map(({ name, mountPath }) => ({ name, path: cleanPath(mountPath) }));
    for (const { path } of mounts.filter(({ name }) => name === volume)) {
      if (path.startsWith('../')) return `invalid container mount point ${path}`;
      const inside = mounts.filter((mount) => mount.path.startsWith(`${path}/`));
      const isOutermost = (one: string) => !inside.some((other) => one.startsWith(`${other.path}/`));
      for (const mount of inside) if (isOutermost(mount.path)) found.add(mount.path.slice(path.length + 1));
    }
  }
  return [...found].sort();
}

/** Without empty, `.` and `..` parts, except for those that lead out of a relative path. */
function cleanPath(path: string): string {
  const isAbsolute = path.startsWith('/');
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (!isAbsolute) parts.push(part);
  }
  return `${isAbsolute ? '/' : ''}${parts.join('/')}`;
}
