import {
  type ContainerState,
  type ContainerStatus,
  type PodEvent,
  encodeToken,
  podEventSchema,
} from '@kubus/contracts';
import type { Command } from 'commander';
import { type NodeLink, connectNode } from '../node-link.ts';
import { type PodView, Pods, statusWord } from '../pods.ts';
import { formatAge, formatTable } from '../table.ts';

export function addDescribe(program: Command): void {
  const describe = program.command('describe').description('tell everything about one thing');
  describe
    .command('pod')
    .alias('pods')
    .argument('<name>', 'the pod')
    .description('tell everything about a pod')
    .option('-n, --namespace <namespace>', 'its namespace', 'default')
    .action(async (name: string, options: { namespace: string }, command: Command) => {
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      const pod = (await Pods.read(link)).find(name, options.namespace, link.bus.node);
      console.log([...describePod(pod, link.bus.node), ...(await describeEvents(link, pod))].join('\n'));
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
    field('Status', statusWord(pod)),
    field(
      'Worker',
      `${work.worker}, ${worker?.state ?? 'not begun'}${worker?.error === undefined ? '' : `: ${worker.error}`}`,
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

/** The pod's events from the record; the same one several times is one line. */
async function describeEvents(link: NodeLink, pod: PodView): Promise<string[]> {
  const messages = await link.record(`*.event.recorded.${encodeToken(pod.uid)}`);
  const lines = new Map<string, { event: PodEvent; from: string; at: number; count: number }>();
  for (const { message, envelope, at } of messages) {
    const parsed = podEventSchema.safeParse(JSON.parse(message.data));
    if (!parsed.success) continue;
    const key = `${parsed.data.reason} ${parsed.data.message} ${parsed.data.fieldPath ?? ''}`;
    const count = (lines.get(key)?.count ?? 0) + 1;
    lines.set(key, { event: parsed.data, from: envelope.source, at, count });
  }
  if (lines.size === 0) return ['Events:         <none>'];
  const rows = [...lines.values()].map(({ event, from, at, count }) => [
    event.type,
    event.reason,
    `${formatAge(Date.now() - at)}${count > 1 ? ` (x${count})` : ''}`,
    from,
    event.message,
  ]);
  return ['Events:', indent(formatTable(['TYPE', 'REASON', 'AGE', 'FROM', 'MESSAGE'], rows))];
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}
