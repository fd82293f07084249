import {
  type ContainerState,
  type ContainerStatus,
  type Pod,
  type PodNetwork,
  type PodVolumes,
  encodeToken,
  podNetwork,
  podVolumes,
  volumeSourceNames,
} from '@kubus/contracts';
import type { Command } from 'commander';
import { connectNode } from '../node/node-link.ts';
import { outputOption, printDocument, print } from '../output/output.ts';
import { type RecordedEvent, eventsOf, lastSeen, newestEvents } from '../pods/recorded-events.ts';
import { type PodView, Pods, columnsOf, podDocument } from '../pods/pods.ts';
import { formatTable } from '../output/table.ts';

export function addDescribe(program: Command): void {
  const describe = program.command('describe').description('show the details of one object');
  describe
    .command('pod')
    .alias('pods')
    .argument('<name>', 'name of the pod')
    .description('show spec, status, volumes, network and events of a pod')
    .option('-n, --namespace <namespace>', 'namespace of the pod', 'default')
    .addOption(outputOption())
    .action(async (name: string, options: { namespace: string; output?: 'json' | 'yaml' }, command: Command) => {
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      const pod = (await Pods.read(link)).find(name, options.namespace, link.bus.node);
      const network = (await link.facts(podNetwork)).get(pod.uid)?.value;
      const volumes = (await link.facts(podVolumes)).get(pod.uid)?.value;
      const events = newestEvents(await link.record(eventsOf(encodeToken(pod.uid))));
      if (options.output !== undefined) {
        printDocument({ pod: podDocument(pod), worker: pod.worker, volumes, network, events }, options.output);
        return;
      }
      print(
        [
          ...describePod(pod, link.bus.node),
          ...describeVolumes(pod.work.pod, volumes),
          ...describeNetwork(network),
          ...describeEvents(events),
        ].join('\n'),
      );
    });
}

function describePod(pod: PodView, node: string): string[] {
  const { work, status, worker } = pod;
  const { ref } = work;
  const field = (name: string, value: string | undefined) => `${`${name}:`.padEnd(16)}${value ?? '<none>'}`;
  const pairs = (values: Record<string, string> | undefined) =>
    Object.entries(values ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'.padEnd(17)) || undefined;
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

function describeEvents(events: readonly RecordedEvent[]): string[] {
  if (events.length === 0) return ['Events:         <none>'];
  const now = Date.now();
  const rows = events.map((event) => [event.type, event.reason, lastSeen(event, now), event.from, event.message]);
  return ['Events:', indent(formatTable(['TYPE', 'REASON', 'AGE', 'FROM', 'MESSAGE'], rows))];
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}
