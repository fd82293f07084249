import type { Command } from 'commander';
import { Option } from 'commander';
import { type CausalNode, type RecordedMessage, causalTree, onBusBetween } from '@kubus/causality';
import { bareType, encodeToken } from '@kubus/contracts';
import { type NodeLink, connectNode } from '../node-link.ts';
import { Pods } from '../pods.ts';
import { UserError } from '../user-error.ts';
import { summarise } from './summary.ts';

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
  const messages = await link.record(`*.*.*.${encodeToken(uid)}`);
  if (messages.length === 0) throw new UserError(`the record holds no message about ${name}`);
  const roots = causalTree(messages);
  if (options.output === 'json') {
    console.log(JSON.stringify(messages.map(({ message, at }) => ({ at, ...message }))));
    return;
  }
  const [first] = messages;
  console.log(
    '   since    after    bus  (milliseconds: since the first message, after the cause, and of that on the bus)',
  );
  for (const root of roots) printNode(root, 0, first?.at ?? 0);
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

function printNode({ recorded, children }: CausalNode, depth: number, start: number, cause?: RecordedMessage): void {
  const { envelope, at } = recorded;
  const since = (at - start).toFixed(1).padStart(8);
  const after = (cause === undefined ? '' : `+${(at - cause.at).toFixed(1)}`).padStart(8);
  const onBus = ((cause && onBusBetween(cause, recorded)?.toFixed(1)) ?? '').padStart(6);
  const type = bareType(envelope.type);
  const what = `${envelope.source}  ${type}  ${summarise(recorded)}`;
  console.log(`${since} ${after} ${onBus}  ${'  '.repeat(depth)}${what}`.trimEnd());
  for (const child of children) printNode(child, depth + 1, start, recorded);
}
