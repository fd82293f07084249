import { fromNats, nodeSubject } from '@kubus/bus-nats';
import { payloadOf, recordedMessage, summarise } from '@kubus/causality';
import { bareType, podWork } from '@kubus/contracts';
import type { Command } from 'commander';
import { type NodeLink, connectNode } from '../node-link.ts';

export function addTail(program: Command): void {
  program
    .command('tail')
    .argument('[subject]', 'what to show: a subject, whole or below kubus.<node>. (wildcards * and >)', '>')
    .description('show the messages of a node as they are published')
    .option('-o, --output <format>', 'json: one document per line')
    .action(async (subject: string, options: { output?: string }, command: Command) => {
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      await tail(link, subject, options.output === 'json');
    });
}

async function tail(link: NodeLink, subject: string, json: boolean): Promise<void> {
  const names = new Map<string, string>();
  await link.facts(podWork, { changed: (fact) => remember(names, fact) });
  const pattern = subject.startsWith('kubus.') ? subject : nodeSubject(link.bus.node, widened(subject));
  link.connection.subscribe(pattern, {
    callback: (error, wire) => {
      if (error !== null) {
        console.error(`kubus: ${error.message}`);
        return;
      }
      const raw = fromNats(wire);
      if (json) {
        // All of them, also what says nothing of itself: whoever validates messages wants to see those most of all.
        console.log(JSON.stringify({ subject: raw.subject, headers: raw.headers, payload: payloadAsSaid(raw.data) }));
        return;
      }
      const recorded = recordedMessage(raw);
      if (recorded === undefined) return;
      const { message, envelope } = recorded;
      const pod = envelope.pod === undefined ? '' : (names.get(envelope.pod) ?? envelope.pod);
      const time = envelope.time.slice(11, 26);
      const type = bareType(envelope.type);
      const says = summarise(message, payloadOf(message));
      console.log(`${time}  ${envelope.source.padEnd(17)} ${type.padEnd(32)} ${pod.padEnd(24)} ${says}`);
    },
  });
  await new Promise(() => undefined);
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
