import type { StoredMessage } from '@kubus/bus';
import { type NodeDir, nodeDir } from '@kubus/launcher';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import {
  type CausalNode,
  causalTree,
  chromeTraceOf,
  criticalPaths,
  decisionIn,
  jsonLinesOf,
  otlpOf,
  type RestartPath,
  podTimeline,
  recordedMessage,
  restartPaths,
  spentBetween,
} from '@kubus/causality';
import { bareType } from '@kubus/contracts';
import type { CriticalPath, MessageBrief } from '@kubus/contracts/observatory';
import { milliseconds } from '../duration-option.ts';
import { connectNode } from '../node/node-link.ts';
import { programInNode } from '../node/program-in-node.ts';
import { type PodRecord, readPodRecord, readRecordedPod } from '../pods/pod-record.ts';
import { withRecording } from '../pods/recording-file.ts';
import { evictionText } from '../pressure/ranking-text.ts';
import { sendSpans } from '../pods/send-spans.ts';
import { formatTable } from '../output/table.ts';
import { UserError } from '../user-error.ts';
import { printKubusDocument } from '../output/documents.ts';
import { escapeControls, print } from '../output/output.ts';

/** The formats of `--format`. */
const formats: Readonly<Record<string, (messages: Iterable<StoredMessage>) => Iterable<string>>> = {
  otlp: otlpOf,
  chrome: chromeTraceOf,
  jsonl: jsonLinesOf,
};

interface TraceOptions {
  readonly namespace: string;
  readonly critical?: boolean;
  readonly format?: string;
  readonly output?: string;
  readonly otlpEndpoint?: string;
  readonly recording?: string;
  readonly of?: 'start' | 'restart' | 'stop';
  /** Milliseconds. */
  readonly since?: number;
}

/** A critical path of a pod, with that of a restart. */
type Path = CriticalPath | RestartPath;

export function addTrace(program: Command): void {
  const trace = program.command('trace').description('show messages with their causes');
  trace
    .command('pod')
    .argument('<name>', 'name or UID of the pod, also of one that is removed')
    .description('print the messages of a pod as a tree of causes, with the time that each took')
    .option('-n, --namespace <namespace>', 'namespace of the pod', 'default')
    .option('--recording <file>', 'read an exported recording instead of the node’s record')
    .option('--critical', 'print the critical paths of its start, restarts and stop, step by step')
    .addOption(
      new Option('--of <part>', 'only this part of its life: its last start, restart or stop').choices([
        'start',
        'restart',
        'stop',
      ]),
    )
    .addOption(
      new Option('--since <duration>', 'only messages newer than a duration like 5s, 2m or 1h30m')
        .argParser(milliseconds)
        .conflicts('of'),
    )
    .addOption(
      new Option(
        '--format <format>',
        'otlp: OpenTelemetry spans (JSON lines); chrome: trace for Perfetto and Chrome; jsonl: messages as JSON lines',
      ).choices(Object.keys(formats)),
    )
    .option('-o, --output <file>', 'file for --format; json: print one JSON document instead')
    .option('--otlp-endpoint <url>', 'send the spans to this OpenTelemetry collector, such as http://127.0.0.1:4318')
    .action(async (name: string, options: TraceOptions, command: Command) => {
      const { namespace, otlpEndpoint, recording } = options;
      if (recording !== undefined) {
        await withRecording(recording, (reader) => tracePod(readRecordedPod(reader, name, namespace), options));
        return;
      }
      const { node } = command.optsWithGlobals<{ node: string }>();
      const dir = nodeDir(node);
      if (otlpEndpoint !== undefined && existsSync(dir.networkNamespace)) {
        await sendFromMachine(dir, name, options, otlpEndpoint);
        return;
      }
      const link = await connectNode(node);
      await tracePod(await readPodRecord(link, name, namespace), options);
    });
}

async function tracePod(record: PodRecord, options: TraceOptions): Promise<void> {
  const { critical, format, output, otlpEndpoint, of, since } = options;
  const { uid } = record;
  // The paths need the whole record.
  const messages = critical === true ? record.messages : partOf(record, { of, since });
  if (otlpEndpoint !== undefined) await sendSpans(otlpOf(messages), otlpEndpoint);
  if (format !== undefined) await writeTrace(formats[format]?.(messages) ?? [], output);
  else if (output === 'json') printKubusDocument('PodTimeline', podTimeline(uid, messages), output);
  else if (output !== undefined) throw new UserError('--output FILE needs --format otlp, chrome or jsonl');
  else if (critical === true) {
    printPaths(pathsOf(record).filter(({ what, from }) => (of ?? what) === what && isSince(from.at, since)));
  } else if (otlpEndpoint === undefined) printTree({ uid, messages });
}

/** In the order in which they began. */
function pathsOf({ uid, messages }: PodRecord): Path[] {
  return [...criticalPaths(uid, messages), ...restartPaths(uid, messages)].sort((a, b) => a.from.at - b.from.at);
}

/**
 * The messages of one part of a pod's life, or of the last time.
 *
 * @throws UserError when there are none.
 */
function partOf(record: PodRecord, { of, since }: Pick<TraceOptions, 'of' | 'since'>): readonly StoredMessage[] {
  if (of === undefined && since === undefined) return record.messages;
  const path = of === undefined ? undefined : pathsOf(record).findLast(({ what }) => what === of);
  if (of !== undefined && path === undefined) throw new UserError(`the record has no complete ${of} of this pod`);
  const found = record.messages.filter(({ message }) => {
    const at = recordedMessage(message)?.at;
    if (at === undefined) return false;
    return path === undefined ? isSince(at, since) : at >= path.from.at && at <= path.to.at;
  });
  if (found.length === 0) throw new UserError('the record has no message about this pod in that time');
  return found;
}

function isSince(at: number, since: number | undefined): boolean {
  return since === undefined || at >= Date.now() - since;
}

async function writeTrace(chunks: Iterable<string>, file: string | undefined): Promise<void> {
  const target = file === undefined ? process.stdout : createWriteStream(file);
  await pipeline(Readable.from(chunks).map(escapeControls), target, { end: file !== undefined });
}

/**
 * Runs in the machine's network, where collectors are: reads the spans with this program in the network of a private node, and sends them.
 * The other outputs are printed by a second one. The exit code is the first failed one's; a failed program has said why.
 */
async function sendFromMachine(dir: NodeDir, name: string, options: TraceOptions, endpoint: string): Promise<void> {
  const { critical, format, output, of, since } = options;
  const pod = [
    ...['trace', 'pod', name, '--namespace', options.namespace],
    ...(of === undefined ? [] : ['--of', of]),
    ...(since === undefined ? [] : ['--since', `${since}ms`]),
  ];
  const [program, ...args] = programInNode(dir, [...pod, '--format', 'otlp']);
  const spans = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(spans, 'exit') as Promise<[number | null]>;
  // Ends the program also when the collector has failed.
  await sendSpans(createInterface({ input: spans.stdout }), endpoint).finally(() => spans.stdout.destroy());
  const [code] = await ended;
  const others = [
    ...(critical === true ? ['--critical'] : []),
    ...(format === undefined ? [] : ['--format', format]),
    ...(output === undefined ? [] : ['--output', output]),
  ];
  process.exitCode = code ?? 1;
  if (code !== 0 || others.length === 0) return;
  const [printer, ...rest] = programInNode(dir, [...pod, ...others]);
  const [printed] = (await once(spawn(printer, rest, { stdio: 'inherit' }), 'exit')) as [number | null];
  process.exitCode = printed ?? 1;
}

function printPaths(paths: readonly Path[]): void {
  if (paths.length === 0)
    throw new UserError(
      'the record has no complete start, restart or stop of this pod in that time: it may be too old',
    );
  print(paths.map(pathTable).join('\n\n'));
}

/** The steps of a path with their times in milliseconds, and the sums of these. */
export function pathTable({ what, ms, busMs, queueMs, workMs, segments, from }: Path): string {
  const times = (one: { busMs: number; queueMs: number; workMs: number; ms: number }) =>
    [one.busMs, one.queueMs, one.workMs, one.ms].map((time) => time.toFixed(1));
  const rows = segments.map((segment) => {
    const since = (segment.effect.at - from.at).toFixed(1);
    // The service has its own column.
    return [segment.service, segment.step.replace(`> ${segment.service} `, '> '), ...times(segment), since];
  });
  const header = ['SERVICE', 'STEP', 'BUS', 'QUEUE', 'WORK', 'MS', 'SINCE'];
  const sums = ['', `total ${what}`, ...times({ busMs, queueMs, workMs, ms }), ms.toFixed(1)];
  return formatTable(header, [...rows, sums]);
}

function printTree({ uid, messages }: PodRecord): void {
  const story = podTimeline(uid, messages).messages;
  const [first] = story;
  print(
    '   since    after    bus  queue  (milliseconds: since the first message; after the cause; of that: on the bus, and queued)',
  );
  for (const root of causalTree(story)) printNode(root, 0, first?.at ?? 0);
  const decision = decisionIn(messages, uid);
  if (decision !== undefined) print(`\n${evictionText(decision, uid)}`);
}

function printNode({ message, children }: CausalNode, depth: number, start: number, cause?: MessageBrief): void {
  const { at, source, type, summary, causes, heard, began } = message;
  const spent = cause !== undefined && causes[0] === cause.id ? spentBetween(cause, message) : undefined;
  const columns = [
    (at - start).toFixed(1).padStart(8),
    (cause === undefined ? '' : `+${(at - cause.at).toFixed(1)}`).padStart(8),
    (spent === undefined || heard === undefined ? '' : spent.busMs.toFixed(1)).padStart(6),
    (spent === undefined || began === undefined ? '' : spent.queueMs.toFixed(1)).padStart(6),
  ];
  const name = message.kind === 'reply' ? bareType(type).replace('.cmd.', '.reply.') : bareType(type);
  print(`${columns.join(' ')}  ${'  '.repeat(depth)}${source}  ${name}  ${summary}`.trimEnd());
  for (const child of children) printNode(child, depth + 1, start, message);
}
