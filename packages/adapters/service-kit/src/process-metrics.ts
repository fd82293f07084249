import { readFileSync, readdirSync, statSync } from 'node:fs';
import type { Metrics, Sample } from './metrics.ts';

/** The value that is shown for a limit that does not exist. */
const UNLIMITED = Number.MAX_SAFE_INTEGER;

/** The process metrics under Prometheus' names; values that the kernel does not report are omitted. */
export function addProcessMetrics(metrics: Metrics, version: string): void {
  const show = (type: 'counter' | 'gauge', name: string, help: string, value: () => number | undefined) =>
    metrics.add({ type, name, help, collect: () => alone(value()) });
  metrics.add({
    type: 'gauge',
    name: 'kubus_build_info',
    help: 'Version of the service.',
    collect: () => [{ value: 1, labels: { version } }],
  });
  show('counter', 'process_cpu_seconds_total', 'User and system CPU time of the process.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  show('gauge', 'process_resident_memory_bytes', 'Resident memory of the process.', () => process.memoryUsage.rss());
  show('gauge', 'process_virtual_memory_bytes', 'Address space of the process.', () => {
    const kilobytes = /^VmSize:\s+(\d+) kB$/m.exec(text('status'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  });
  show('gauge', 'process_virtual_memory_max_bytes', 'Limit of the address space of the process.', () =>
    limit('Max address space'),
  );
  show('gauge', 'process_open_fds', 'Open file descriptors of the process.', () => openDescriptors('/proc/self/fd'));
  show('gauge', 'process_max_fds', 'Limit of open file descriptors of the process.', openFileLimit);
  show(
    'gauge',
    'process_start_time_seconds',
    'Start of the process since the Unix epoch.',
    () => performance.timeOrigin / 1000,
  );
}

function alone(value: number | undefined): Sample[] {
  return value === undefined ? [] : [{ value }];
}

function text(file: string): string {
  try {
    return readFileSync(`/proc/self/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** How many files this process may have open; undefined when that cannot be read, which takes a descriptor. */
export function openFileLimit(): number | undefined {
  return limit('Max open files');
}

/** The soft limit (proc_pid_limits(5)). */
function limit(name: string): number | undefined {
  const line = text('limits')
    .split('\n')
    .find((one) => one.startsWith(name));
  const value = line?.slice(name.length).trim().split(/\s+/)[0];
  if (value === undefined) return undefined;
  return value === 'unlimited' ? UNLIMITED : Number(value);
}

/**
 * How many files a process has open; undefined when it has ended. Since Linux 6.2 the size of the folder is its number of
 * entries:
 * node-api has thousands open.
 *
 * @param folder `/proc/<pid>/fd`
 */
export function openDescriptors(folder: string): number | undefined {
  try {
    return statSync(folder).size || readdirSync(folder).length;
  } catch {
    return undefined;
  }
}
