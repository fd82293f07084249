import type { Command } from 'commander';
import { type NodeLink, connectNode } from '../node/node-link.ts';
import { outputOption, printDocument, print, printError } from '../output/output.ts';
import { readEvents } from '../pods/event-feed.ts';
import { type EventObject, type RecordedEvent } from '@kubus/causality';
import { eventDocument, lastSeen } from '../pods/event-document.ts';
import { formatTable } from '../output/table.ts';
import { UserError } from '../user-error.ts';

interface EventsOptions {
  readonly namespace: string;
  readonly allNamespaces?: boolean;
  readonly for?: string;
  readonly types?: string;
  readonly watch?: boolean;
  readonly output?: 'json' | 'yaml';
}

export function addEvents(program: Command): void {
  program
    .command('events')
    .description('list the Kubernetes events of pods and of the node, from the node’s record')
    .option('-n, --namespace <namespace>', 'namespace of the events; those of the node are in default', 'default')
    .option('-A, --all-namespaces', 'list the events of all namespaces')
    .option('--for <object>', 'only events of one object: pod/NAME or node/NAME')
    .option('--types <types>', 'only events of these types: Normal, Warning or Normal,Warning')
    .option('-w, --watch', 'keep running and print new events')
    .addOption(outputOption())
    .action(async (options: EventsOptions, command: Command) => {
      const wanted = wantedEvents(options, command.optsWithGlobals<{ node: string }>().node);
      await printEvents(await connectNode(command.optsWithGlobals<{ node: string }>().node), options, wanted);
    });
}

/**
 * A filter that selects the events which the options ask for.
 *
 * @throws UserError for an invalid `--for` or `--types`.
 */
export function wantedEvents(
  options: Pick<EventsOptions, 'namespace' | 'allNamespaces' | 'for' | 'types'>,
  node: string,
): (event: Pick<RecordedEvent, 'object' | 'type'>) => boolean {
  const isWanted = options.for === undefined ? () => true : objectFilter(options.for, node);
  const types = options.types?.split(',');
  const unknown = types?.find((type) => type !== 'Normal' && type !== 'Warning');
  if (unknown !== undefined) throw new UserError(`valid --types are Normal or Warning, not "${unknown}"`);
  return ({ object, type }) =>
    (options.allNamespaces === true || object.namespace === options.namespace) &&
    (types === undefined || types.includes(type)) &&
    isWanted(object);
}

/** @param wanted `pod/NAME` or `node/NAME`, with kubectl's short kinds; NAME of a static pod may be its name in the manifest. */
function objectFilter(wanted: string, node: string): (object: EventObject) => boolean {
  const [, kind = '', name = ''] = /^(pods?|po|nodes?|no)\/(.+)$/.exec(wanted) ?? [];
  if (name === '') throw new UserError(`--for must be pod/NAME or node/NAME, not "${wanted}"`);
  if (kind.startsWith('n')) return (object) => object.kind === 'Node' && object.name === name;
  const names = [name, `${name}-${node}`];
  return (object) => object.kind === 'Pod' && (names.includes(object.name) || object.uid === name);
}

async function printEvents(
  link: NodeLink,
  { output, watch = false, allNamespaces: all = false, namespace }: EventsOptions,
  wanted: (event: RecordedEvent) => boolean,
): Promise<void> {
  const { node } = link.bus;
  const onEvent = (event: RecordedEvent) => {
    if (!wanted(event)) return;
    if (output === undefined) print(eventTable([event], { all, now: Date.now() }).rows.flat().join('   '));
    else printDocument(eventDocument(event, node), output);
  };
  const events = (await readEvents(link, watch ? onEvent : undefined)).filter(wanted);
  if (output !== undefined) {
    const items = events.map((event) => eventDocument(event, node));
    if (!watch) printDocument({ apiVersion: 'v1', kind: 'List', items }, output);
    else for (const item of items) printDocument(item, output);
  } else if (events.length === 0 && !watch) {
    printError(`No events found${all ? '' : ` in ${namespace} namespace`}.`);
  } else {
    const { header, rows } = eventTable(events, { all, now: Date.now() });
    print(formatTable(header, rows));
  }
  if (watch) await new Promise(() => undefined);
}

/** kubectl's columns for events. */
export function eventTable(
  events: readonly RecordedEvent[],
  { all, now }: { all: boolean; now: number },
): { header: string[]; rows: string[][] } {
  return {
    header: [...(all ? ['NAMESPACE'] : []), 'LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'],
    rows: events.map((event) => [
      ...(all ? [event.object.namespace] : []),
      lastSeen(event, now),
      event.type,
      event.reason,
      `${event.object.kind}/${event.object.name}`,
      event.message,
    ]),
  };
}
