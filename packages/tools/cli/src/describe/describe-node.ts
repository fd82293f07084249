import { type Pod, type PodStatus, type ResourceList, formatQuantity, parseQuantity } from '@kubus/contracts';
import type { NodeObject } from '@kubus/node-status';
import { formatAge } from '@kubus/pod';
import { podResourceList } from '@kubus/pod-status';
import { textOf } from '../query/json-path-values.ts';
import { formatTable, indent } from '../output/table.ts';
import { rolesOf } from '../resources/nodes.ts';
import { column, field, pairs } from './fields.ts';

/** A pod with its status, and when the node first saw it (RFC 3339). */
export type DescribedPod = Pick<Pod, 'metadata' | 'spec'> & { readonly status?: PodStatus; readonly firstSeen: string };

/** The resources whose requests and limits are added up. */
const SUMMED = ['cpu', 'memory', 'ephemeral-storage'];

const INFO: readonly (readonly [string, string])[] = [
  ['Machine ID', 'machineID'],
  ['System UUID', 'systemUUID'],
  ['Boot ID', 'bootID'],
  ['Kernel Version', 'kernelVersion'],
  ['OS Image', 'osImage'],
  ['Operating System', 'operatingSystem'],
  ['Architecture', 'architecture'],
  ['Container Runtime Version', 'containerRuntimeVersion'],
  ['Kubelet Version', 'kubeletVersion'],
];

/** What `kubectl describe node` shows, without the events. @param now milliseconds since the Unix epoch */
export function describeNode(node: NodeObject, all: readonly DescribedPod[], now: number): string[] {
  const { metadata, spec, status } = node;
  const pods = all.filter((pod) => pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed');
  const { allocatable = status.capacity ?? {} } = status;
  const created = metadata['creationTimestamp'];
  return [
    field('Name', metadata.name),
    field('Roles', rolesOf(node).join(',') || undefined),
    field('Labels', pairs(metadata.labels)),
    field('Annotations', pairs(metadata.annotations)),
    field('Created', typeof created === 'string' ? created : undefined),
    field(
      'Taints',
      column((spec.taints ?? []).map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`)),
    ),
    field('Unschedulable', String(spec.unschedulable === true)),
    'Conditions:',
    indent(
      formatTable(
        ['TYPE', 'STATUS', 'REASON', 'MESSAGE'],
        (status.conditions ?? []).map((one) => [one.type, one.status, one.reason ?? '', one.message ?? '']),
      ),
    ),
    'Addresses:',
    ...(status.addresses ?? []).map(({ type, address }) => `  ${field(type, address)}`),
    ...resources('Capacity', status.capacity),
    ...resources('Allocatable', status.allocatable),
    'System Info:',
    ...INFO.map(([name, key]) => `  ${`${name}:`.padEnd(28)}${textOf(status.nodeInfo?.[key])}`),
    `Non-terminated Pods: (${pods.length} in total)`,
    indent(podTable(pods, allocatable, now)),
    'Allocated resources:',
    '  (Total limits may be over 100 percent, i.e., overcommitted.)',
    indent(sumTable(pods, allocatable)),
  ];
}

function resources(title: string, list: ResourceList | undefined): string[] {
  if (list === undefined) return [];
  const names = Object.keys(list).sort();
  return [`${title}:`, ...names.map((name) => `  ${`${name}:`.padEnd(20)}${list[name] ?? ''}`)];
}

function podTable(pods: readonly DescribedPod[], allocatable: ResourceList, now: number): string {
  const rows = pods.map((pod) => {
    const [requests, limits] = [podResourceList(pod, 'requests'), podResourceList(pod, 'limits')];
    return [
      pod.metadata.namespace,
      pod.metadata.name,
      ...['cpu', 'memory'].flatMap((name) =>
        [requests, limits].map((list) => withShare(list[name], allocatable[name])),
      ),
      formatAge(now - Date.parse(pod.status?.startTime ?? pod.firstSeen)),
    ];
  });
  const header = ['NAMESPACE', 'NAME', 'CPU REQUESTS', 'CPU LIMITS', 'MEMORY REQUESTS', 'MEMORY LIMITS', 'AGE'];
  return formatTable(header, rows);
}

function sumTable(pods: readonly DescribedPod[], allocatable: ResourceList): string {
  const sum = (which: 'requests' | 'limits', name: string) => {
    const amounts = pods.map((pod) => parseQuantity(podResourceList(pod, which)[name] ?? '0'));
    const nano = amounts.reduce((total, amount) => total + (amount?.nano ?? 0n), 0n);
    const format = amounts.find((amount) => amount !== undefined && amount.nano > 0n)?.format ?? 'DecimalSI';
    return withShare(formatQuantity({ nano, format }), allocatable[name]);
  };
  const rows = SUMMED.map((name) => [name, sum('requests', name), sum('limits', name)]);
  return formatTable(['RESOURCE', 'REQUESTS', 'LIMITS'], rows);
}

/** An amount and its share of another one in whole percents: `100m (5%)`. */
function withShare(amount = '0', whole = '0'): string {
  const [part, all] = [parseQuantity(amount)?.nano ?? 0n, parseQuantity(whole)?.nano ?? 0n];
  return `${amount} (${all === 0n ? 0n : (part * 100n) / all}%)`;
}
