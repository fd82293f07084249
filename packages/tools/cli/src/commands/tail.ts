import type { WireMessage } from '@kubus/bus';
import { fromNats, nodeSubject } from '@kubus/bus-nats';
import { type RecordedMessage, payloadOf, recordedMessage, summarise } from '@kubus/causality';
import { bareType, instanceOfSource, podWork } from '@kubus/contracts';
import type { Command } from 'commander';
import { type NodeLink, connectNode } from '../node/node-link.ts';
import { print, printError } from '../output/output.ts';

export function addTail(program: Command): void {
  program
    .command('tail')
    .argument('[subject]', 'subject of the messages, with or without kubus.<node>. (wildcards * and >)', '>')
    .description('print the messages of a node as they are published')
    .option('-o, --output <format>', 'output format; json: one document per line')
    .option('--recorded', 'print the messages in the node’s record instead of new ones')
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
    // JSON includes messages with invalid headers, which a validator needs to see.
    if (json) {
      print(asJson(message));
      return;
    }
    const one = recordedMessage(message);
    if (one !== undefined) print(asLine(one, names));
  };
  if (recorded) {
    for (const { message } of await link.record(pattern.split('.').slice(2).join('.'))) show(message);
    return;
  }
  link.connection.subscribe(pattern, {
    callback: (error, wire) => {
      if (error !== null) printError(`kubus: ${error.message}`);
      else show(fromNats(wire));
    },
  });
  await new Promise(() => undefined);
}

function asJson({ subject, headers, data }: WireMessage): string {
  return JSON.stringify({ subject, headers, payload: rawPayload(data) });
}

function asLine(recorded: RecordedMessage, names: ReadonlyMap<string, string>): string {
  const { envelope, message } = recorded;
  const summary = summarise(message, payloadOf(message));
  const pod = envelope.pod === undefined ? '' : (names.get(envelope.pod) ?? envelope.pod);
  const time = envelope.time.slice(11, 26);
  const type = bareType(envelope.type);
  return `${time}  ${instanceOfSource(envelope.source).padEnd(17)} ${type.padEnd(32)} ${pod.padEnd(24)} ${summary}`;
}

/** The payload as JSON; null when it is empty, its text when it is not JSON. */
function rawPayload(data: string): unknown {
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

/** `config` means `config.>`. */
function widened(subject: string): string {
  return subject.includes('>') || subject.split('.').length >= 4 ? subject : `${subject}.>`;
}
