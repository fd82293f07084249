/** A process' cgroup (cgroups(7), /proc/PID/cgroup): hierarchies as `NUMBER:CONTROLLERS:PATH`, that of v2 as `0::PATH`. */
const LINE = /^\d+:([^:]*):(.*)$/;

/**
 * The cgroup in which the kernel accounts for a process, from its file /proc/PID/cgroup (behaviour:qos-and-cgroups); undefined where it is
 * accounted for in more than one. Where systemd keeps processes apart, its own cgroup counts.
 */
export function cgroupOfProcess(text: string, version: 1 | 2): string | undefined {
  const paths = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, controllers = '', path] = LINE.exec(line) ?? [];
    if (path === undefined) continue;
    for (const controller of controllers.split(',')) paths.set(controller, path);
  }
  if (version === 2) return paths.get('');
  const [cpu, memory] = [paths.get('cpu'), paths.get('memory')];
  return cpu === memory && cpu !== undefined ? (paths.get('name=systemd') ?? cpu) : undefined;
}
