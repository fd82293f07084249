import type { WireMessage } from '@kubus/bus';
import { fromNats, nodeSubject } from '@kubus/bus-nats';
import { type RecordedMessage, payloadOf, recordedMessage, summarise } from '@kubus/causality';
import { bareType, instanceOfSource, podWork } from '@kubus/contracts';
import type { Command } from 'commander';
import { type NodeLink, connectNode } from '../node-link.ts';

export function addTail(program: Command): void {
  program
    .command('tail')
    .argument('[subject]', 'what to show: a subject, whole or below kubus.<node>. (wildcards * and >)', '>')
    .description('show the messages of a node as they are published')
    .option('-o, --output <format>', 'json: one document per line')
    .option('--recorded', 'what the node has recorded, instead of what is published from now on')
    .action(async (subject: string, options: { output?: string; recorded?: boolean }, command: Command) => {
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      await tail(link, subject, { json: options.output === 'json', recorded: options.recorded === true });
    });
}

async function tail(
  link: NodeLink,
  subject: string,
  { json, recorded }: { json: boolean; recorded: boolean },
): Promise<void> {
  const names = new Map<string, string>();
  await link.facts(podWork, { changed: (fact) => remember(names, fact) });
  const pattern = subject.startsWith('kubus.') ? subject : nodeSubject(link.bus.node, widened(subject));
  const show = (message: WireMessage) => {
    // Programs get all of them, also what says nothing of itself: whoever validates messages wants to see those most of all.
    if (json) {
      console.log(asJson(message));
      return;
    }
    const one = recordedMessage(message);
    if (one !== undefined) console.log(asLine(one, names));
  };
  if (recorded) {
    for (const { message } of await link.record(pattern.split('.').slice(2).join('.'))) show(message);
    return;
  }
  link.connection.subscribe(pattern, {
    callback: (error, wire) => {
      if (error !== null) console.error(`kubus: ${error.message}`);
      else show(fromNats(wire));
    },
  });
  await new Promise(() => undefined);
}

function asJson({ subject, headers, data }: WireMessage): string {
  return JSON.stringify({ subject, headers, payload: payloadAsSaid(data) });
}

function asLine(recorded: RecordedMessage, names: ReadonlyMap<string, string>): string {
  const { envelope, message } = recorded;
  const says = summarise(message, payloadOf(message));
  const pod = envelope.pod === undefined ? '' : (names.get(envelope.pod) ?? envelope.pod);
  const time = envelope.time.slice(11, 26);
  const type = bareType(envelope.type);
  return `${time}  ${instanceOfSource(envelope.source).padEnd(17)} ${type.padEnd(32)} ${pod.padEnd(24)} ${says}`;
}

/** null for an empty one; the text itself where it is no JSON. */
function payloadAsSaid(data: string): unknown {
  if (data === '') return null;
  try {
    return JSON.parse(data) as unknown;
  } catch {
    return data;
  }
}

function remember(names: Map<string, string>, fact: { key: string; value: unknown }): void {
  const { ref } = fact.value as { ref: { name: string } };
  names.set(fact.key, ref.name);
}

/** `config` means everything below it. */
function widened(subject: string): string {
  return subject.includes('>') || subject.split('.').length >= 4 ? subject : `${subject}.>`;
}
