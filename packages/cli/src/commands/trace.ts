import type { Command } from 'commander';
import { Option } from 'commander';
import { encodeToken } from '@kubus/contracts';
import { type NodeLink, connectNode } from '../node-link.ts';
import { Pods } from '../pods.ts';
import { UserError } from '../program.ts';
import { type RecordedMessage, readRecord } from './record.ts';
import { summarise } from './summary.ts';

interface TraceNode {
  readonly recorded: RecordedMessage;
  readonly children: TraceNode[];
}

export function addTrace(program: Command): void {
  const trace = program.command('trace').description('show what led to what');
  trace
    .command('pod')
    .argument('<name>', 'the pod, or its UID if it is gone')
    .description('the messages of a pod as a causal timeline, with the time that each took after its cause')
    .option('-n, --namespace <namespace>', 'its namespace', 'default')
    .addOption(new Option('-o, --output <format>', 'print for programs').choices(['json']))
    .action(async (name: string, options: { namespace: string; output?: 'json' }, command: Command) => {
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      await tracePod(link, name, options);
    });
}

async function tracePod(link: NodeLink, name: string, options: { namespace: string; output?: 'json' }): Promise<void> {
  const uid = await uidOf(link, name, options.namespace);
  const messages = await readRecord(link, `*.*.*.${encodeToken(uid)}`);
  if (messages.length === 0) throw new UserError(`the record holds no message about ${name}`);
  const roots = causalTree(messages);
  if (options.output === 'json') {
    console.log(JSON.stringify(messages.map(({ message, at }) => ({ at, ...message }))));
    return;
  }
  const [first] = messages;
  console.log(`   since    after  (milliseconds since the first message, and after the cause)`);
  for (const root of roots) printNode(root, 0, first?.at ?? 0, undefined);
}

async function uidOf(link: NodeLink, name: string, namespace: string): Promise<string> {
  const pods = await Pods.read(link);
  try {
    return pods.find(name, namespace, link.bus.node).uid;
  } catch (error) {
    // A pod that is gone has no name any more, but its messages are still in the record.
    if (/^[0-9a-f-]{32,36}$/.test(name)) return name;
    throw error;
  }
}

/** Each message under the cause that it waited for last; those whose causes are not among them are roots. */
export function causalTree(messages: readonly RecordedMessage[]): TraceNode[] {
  const nodes = new Map<string, TraceNode>();
  for (const recorded of messages) {
    // The same fact is published again after a connection was lost; the first time is when it was said.
    const { id } = recorded.envelope.cause;
    if (!nodes.has(id)) nodes.set(id, { recorded, children: [] });
  }
  const roots: TraceNode[] = [];
  for (const node of nodes.values()) {
    const parent = node.recorded.envelope.causes
      .map((id) => nodes.get(id))
      .find((one) => one !== undefined && one !== node);
    (parent?.children ?? roots).push(node);
  }
  return roots;
}

function printNode(node: TraceNode, depth: number, start: number, cause: number | undefined): void {
  const { recorded, children } = node;
  const { envelope, at } = recorded;
  const since = (at - start).toFixed(1).padStart(8);
  const after = cause === undefined ? ''.padStart(8) : `+${(at - cause).toFixed(1)}`.padStart(8);
  const type = envelope.type.replace(/\/\d+$/, '');
  console.log(`${since} ${after}  ${'  '.repeat(depth)}${envelope.source}  ${type}  ${summarise(recorded)}`.trimEnd());
  for (const child of children) printNode(child, depth + 1, start, at);
}
