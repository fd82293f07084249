import {
  type ClaimUse,
  type ContainerState,
  type ContainerStatus,
  type Pod,
  type PodNetwork,
  type PodVolumes,
  volumeSourceNames,
} from '@kubus/contracts';
import { formatTable, indent } from '../output/table.ts';
import { type PodView, columnsOf } from '../pods/pods.ts';
import { field, pairs } from './fields.ts';

/** Spec and status of a pod. */
export function describePod(pod: PodView, node: string): string[] {
  const { work, status, worker } = pod;
  const { ref } = work;
  return [
    field('Name', ref.name),
    field('Namespace', ref.namespace),
    field('UID', ref.uid),
    field('Node', node),
    field('Source', work.source),
    field('Start Time', status?.startTime ?? undefined),
    field('Labels', pairs(work.pod?.metadata.labels)),
    field('Annotations', pairs(work.pod?.metadata.annotations)),
    field('Status', columnsOf(pod).status),
    field(
      'Worker',
      `${work.worker}, ${worker?.state ?? 'not started'}${worker?.error === undefined ? '' : `: ${worker.error}`}`,
    ),
    field('IP', status?.podIP),
    field('QoS Class', status?.qosClass),
    'Containers:',
    ...(work.pod?.spec.containers ?? []).flatMap((container) =>
      describeContainer(
        container,
        status?.containerStatuses?.find(({ name }) => name === container.name),
      ),
    ),
    'Conditions:',
    indent(
      formatTable(
        ['TYPE', 'STATUS', 'REASON'],
        (status?.conditions ?? []).map((condition) => [condition.type, condition.status, condition.reason ?? '']),
      ),
    ),
  ];
}

/** The pod's volumes with their paths on the machine, and what is missing of those that are not mounted yet. */
export function describeVolumes(pod: Pick<Pod, 'spec'> | undefined, mounted: PodVolumes | undefined): string[] {
  const volumes = pod?.spec.volumes ?? [];
  if (volumes.length === 0) return [];
  const rows = volumes.map((volume) => {
    const found = mounted?.volumes[volume.name];
    return [
      volume.name,
      volumeSourceNames.find((source) => volume[source] !== undefined) ?? '',
      found?.hostPath ?? '-',
    ];
  });
  const problems = [...(mounted?.errors ?? []), ...(mounted?.awaits ?? []).map((what) => `waiting for: ${what}`)];
  return ['Volumes:', indent([formatTable(['NAME', 'KIND', 'HOST PATH'], rows), ...problems].join('\n'))];
}

/** Empty for a pod whose network cni-bridge has not set up: one with `hostNetwork`, or of a runtime that runs CNI itself. */
export function describeNetwork(network: PodNetwork | undefined): string[] {
  if (network === undefined) return [];
  const via = (gateway: string | undefined) => (gateway === undefined ? '' : ` via ${gateway}`);
  return [
    'Network:',
    ...network.attachments.flatMap(({ ifname, network: name, plugins, interfaces, ips, routes, problem }) => [
      `  ${ifname}:`,
      `    Network:       ${name} (${plugins.join(', ')})`,
      `    Addresses:     ${ips.map(({ address, gateway }) => `${address}${via(gateway)}`).join(', ')}`,
      `    MAC:           ${interfaces.find((one) => one.name === ifname)?.mac ?? ''}`,
      `    Routes:        ${routes.map(({ dst, gw }) => `${dst}${via(gw)}`).join(', ')}`,
      ...(problem === undefined ? [] : [`    Problem:       ${problem}`]),
    ]),
  ];
}

/** The resource claims that the pod uses, with the devices that drivers have prepared. */
export function describeClaims(use: ClaimUse | undefined): string[] {
  if (use === undefined) return [];
  const rows = use.claims.flatMap(({ name, drivers }) => {
    const shown = ({ driver, connected }: (typeof drivers)[number]) =>
      connected === false ? `${driver} (not connected)` : driver;
    const devices = drivers.flatMap((one) =>
      one.devices.map(({ pool, device, health = 'Unknown', healthMessage, cdiDevices }) => {
        const state = healthMessage === undefined ? health : `${health} (${healthMessage})`;
        return [name, shown(one), `${pool}/${device}`, state, cdiDevices.join(', ')];
      }),
    );
    return devices.length > 0 ? devices : [[name, drivers.map(shown).join(', '), '-', '', '']];
  });
  return ['Claims:', indent(formatTable(['CLAIM', 'DRIVER', 'DEVICE', 'HEALTH', 'CDI'], rows))];
}

function describeContainer(
  container: { name: string; image?: string | undefined; command?: string[] | undefined },
  status: ContainerStatus | undefined,
): string[] {
  return [
    `  ${container.name}:`,
    `    Container ID:  ${status?.containerID ?? ''}`,
    `    Image:         ${container.image ?? ''}`,
    `    Image ID:      ${status?.imageID ?? ''}`,
    ...(container.command === undefined ? [] : [`    Command:       ${container.command.join(' ')}`]),
    ...describeState('State', status?.state),
    ...describeState('Last State', status?.lastState),
    `    Ready:         ${String(status?.ready ?? false)}`,
    `    Restart Count: ${status?.restartCount ?? 0}`,
  ];
}

function describeState(title: string, state: ContainerState | undefined): string[] {
  const head = (text: string) => `    ${`${title}:`.padEnd(15)}${text}`;
  if (state?.running !== undefined) return [head('Running'), `      Started:     ${state.running.startedAt ?? ''}`];
  if (state?.waiting !== undefined) {
    const { reason, message } = state.waiting;
    return [
      head('Waiting'),
      `      Reason:      ${reason ?? ''}`,
      ...(message === undefined ? [] : [`      Message:     ${message}`]),
    ];
  }
  if (state?.terminated === undefined) return [];
  const { reason, exitCode, startedAt, finishedAt, message } = state.terminated;
  return [
    head('Terminated'),
    `      Reason:      ${reason ?? ''}`,
    `      Exit Code:   ${exitCode}`,
    ...(message === undefined ? [] : [`      Message:     ${message}`]),
    `      Started:     ${startedAt ?? ''}`,
    `      Finished:    ${finishedAt ?? ''}`,
  ];
}
