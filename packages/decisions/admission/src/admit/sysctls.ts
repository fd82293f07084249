import { sysctlName } from '@kubus/container-config';
import type { Pod, Refusal } from '@kubus/contracts';

type Namespace = 'IPC' | 'Net';

/** Sysctls that do not affect other pods, and the kernel version since which each one is namespaced (row 2). */
const SAFE: readonly { readonly name: string; readonly since?: readonly [number, number] }[] = [
  { name: 'kernel.shm_rmid_forced' },
  { name: 'net.ipv4.ip_local_port_range' },
  { name: 'net.ipv4.tcp_syncookies' },
  { name: 'net.ipv4.ping_group_range' },
  { name: 'net.ipv4.ip_unprivileged_port_start' },
  { name: 'net.ipv4.ip_local_reserved_ports', since: [3, 16] },
  { name: 'net.ipv4.tcp_keepalive_time', since: [4, 5] },
  { name: 'net.ipv4.tcp_fin_timeout', since: [4, 6] },
  { name: 'net.ipv4.tcp_keepalive_intvl', since: [4, 5] },
  { name: 'net.ipv4.tcp_keepalive_probes', since: [4, 5] },
  { name: 'net.ipv4.tcp_rmem', since: [4, 15] },
  { name: 'net.ipv4.tcp_wmem', since: [4, 15] },
];

/** Sysctls of ipc_namespaces(7); those that end with `.` stand for all below them. */
const IPC = [
  'kernel.sem',
  'kernel.shm',
  'kernel.shmall',
  'kernel.shmmax',
  'kernel.shmmni',
  'kernel.shm_rmid_forced',
  'kernel.msg',
  'kernel.msgmax',
  'kernel.msgmnb',
  'kernel.msgmni',
];

/** Sysctls that every pod may set, by kernel release, such as `6.1.0-18-amd64`. */
export function safeSysctls(kernelRelease: string): string[] {
  const [, major = '0', minor = '0'] = /^(\d+)\.(\d+)/.exec(kernelRelease) ?? [];
  const kernel: readonly [number, number] = [Number(major), Number(minor)];
  return SAFE.filter(
    ({ since = [0, 0] }) => kernel[0] > since[0] || (kernel[0] === since[0] && kernel[1] >= since[1]),
  ).map(({ name }) => name);
}

/** The namespace to which a sysctl, or a pattern that ends in `*`, belongs; undefined when it applies to the whole machine. */
export function sysctlNamespace(pattern: string): Namespace | undefined {
  const name = sysctlName(pattern).replace(/\*.*$/, '');
  if (name.startsWith('net.')) return 'Net';
  return IPC.includes(name) || name.startsWith('fs.mqueue.') ? 'IPC' : undefined;
}

/** Sysctls have to be allowed on the node, and must not be those of a namespace that the pod shares with the host. */
export function refuseSysctls({ spec }: Pick<Pod, 'spec'>, allowed: readonly string[]): Refusal | undefined {
  for (const { name } of spec.securityContext?.sysctls ?? []) {
    const dotted = sysctlName(name);
    const pattern = allowed.find((one) => sysctlName(one) === dotted) ?? allowed.find((one) => isBelow(dotted, one));
    const namespace = pattern === undefined ? undefined : sysctlNamespace(pattern);
    if (namespace === undefined) return forbidden(`${JSON.stringify(dotted)} not allowlisted`);
    const shared = namespace === 'Net' ? spec.hostNetwork : spec.hostIPC;
    if (shared === true) return forbidden(`${JSON.stringify(dotted)} not allowed with host ${namespace} enabled`);
  }
  return undefined;
}

function isBelow(name: string, pattern: string): boolean {
  return pattern.includes('*') && name.startsWith(sysctlName(pattern).replace(/\*.*$/, ''));
}

function forbidden(text: string): Refusal {
  return { reason: 'SysctlForbidden', message: `forbidden sysctl: ${text}` };
}
