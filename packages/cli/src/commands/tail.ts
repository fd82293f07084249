import { fromNats, nodeSubject } from '@kubus/bus-nats';
import { type RecordedMessage, payloadOf, recordedMessage, summarise } from '@kubus/causality';
import { bareType, podWork } from '@kubus/contracts';
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
  const show = (one: RecordedMessage) => console.log(json ? asJson(one) : asLine(one, names));
  if (recorded) {
    for (const { message } of await link.record(pattern.split('.').slice(2).join('.'))) {
      const one = recordedMessage(message);
      if (one !== undefined) show(one);
    }
    return;
  }
  link.connection.subscribe(pattern, {
    callback: (error, wire) => {
      const one = error === null ? recordedMessage(fromNats(wire)) : undefined;
      if (error !== null) console.error(`kubus: ${error.message}`);
      else if (one !== undefined) show(one);
    },
  });
  await new Promise(() => undefined);
}

function asJson({ message }: RecordedMessage): string {
  const payload = payloadOf(message) ?? null;
  return JSON.stringify({ subject: message.subject, headers: message.headers, payload });
}

function asLine(recorded: RecordedMessage, names: ReadonlyMap<string, string>): string {
  const { envelope, message } = recorded;
  const says = summarise(message, payloadOf(message));
  const pod = envelope.pod === undefined ? '' : (names.get(envelope.pod) ?? envelope.pod);
  const time = envelope.time.slice(11, 26);
  const type = bareType(envelope.type);
  return `${time}  ${envelope.source.padEnd(17)} ${type.padEnd(32)} ${pod.padEnd(24)} ${says}`;
}

function remember(names: Map<string, string>, fact: { key: string; value: unknown }): void {
  const { ref } = fact.value as { ref: { name: string } };
  names.set(fact.key, ref.name);
}

/** `config` means everything below it. */
function widened(subject: string): string {
  return subject.includes('>') || subject.split('.').length >= 4 ? subject : `${subject}.>`;
}
