import type { StoredMessage } from '@kubus/bus';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import {
  type CausalNode,
  causalTree,
  chromeTraceOf,
  criticalPaths,
  jsonLinesOf,
  otlpOf,
  podTimeline,
  spentBetween,
} from '@kubus/causality';
import { bareType } from '@kubus/contracts';
import type { CriticalPath, MessageBrief } from '@kubus/contracts/observatory';
import { connectNode } from '../node/node-link.ts';
import { type PodRecord, readPodRecord, readRecordedPod } from '../pods/pod-record.ts';
import { withRecording } from '../pods/recording-file.ts';
import { formatTable } from '../output/table.ts';
import { UserError } from '../user-error.ts';
import { escapeControls, print } from '../output/output.ts';

/** How long a collector may take to answer, in milliseconds. */
const COLLECTOR_MS = 10_000;

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
}

export function addTrace(program: Command): void {
  const trace = program.command('trace').description('show messages with their causes');
  trace
    .command('pod')
    .argument('<name>', 'name of the pod, or the UID of a removed one')
    .description('print the messages of a pod as a tree of causes, with the time that each took')
    .option('-n, --namespace <namespace>', 'namespace of the pod', 'default')
    .option('--recording <file>', 'read an exported recording instead of the node’s record')
    .option('--critical', 'print the critical paths of its start and stop, step by step')
    .addOption(
      new Option(
        '--format <format>',
        'otlp: OpenTelemetry spans (JSON lines); chrome: trace for Perfetto and Chrome; jsonl: messages as JSON lines',
      ).choices(Object.keys(formats)),
    )
    .option('-o, --output <file>', 'file for --format; json: print one JSON document instead')
    .option('--otlp-endpoint <url>', 'send the spans to this OpenTelemetry collector, such as http://127.0.0.1:4318')
    .action(async (name: string, options: TraceOptions, command: Command) => {
      const { namespace, recording } = options;
      if (recording !== undefined) {
        await withRecording(recording, (reader) => tracePod(readRecordedPod(reader, name, namespace), options));
        return;
      }
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      await tracePod(await readPodRecord(link, name, namespace), options);
    });
}

async function tracePod(record: PodRecord, { critical, format, output, otlpEndpoint }: TraceOptions): Promise<void> {
  const { uid, messages } = record;
  if (otlpEndpoint !== undefined) await sendSpans(otlpOf(messages), otlpEndpoint);
  if (format !== undefined) await writeTrace(formats[format]?.(messages) ?? [], output);
  else if (output === 'json') print(JSON.stringify(podTimeline(uid, messages)));
  else if (output !== undefined) throw new UserError('--output FILE needs --format otlp, chrome or jsonl');
  else if (critical === true) printPaths(criticalPaths(uid, messages));
  else if (otlpEndpoint === undefined) printTree(record);
}

async function writeTrace(chunks: Iterable<string>, file: string | undefined): Promise<void> {
  const target = file === undefined ? process.stdout : createWriteStream(file);
  await pipeline(Readable.from(chunks).map(escapeControls), target, { end: file !== undefined });
}

/** @throws UserError when the collector cannot be reached, or rejects a span. */
async function sendSpans(requests: Iterable<string>, endpoint: string): Promise<void> {
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  for (const body of requests) {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(COLLECTOR_MS) }).catch(
      (error: unknown) => {
        const { cause } = error as Error;
        throw new UserError(`cannot reach the collector at ${url}: ${String(cause ?? error)}`);
      },
    );
    if (!answer.ok)
      throw new UserError(`the collector at ${url} answers ${answer.status}: ${(await answer.text()).slice(0, 200)}`);
    const { partialSuccess } = ((await answer.json().catch(() => ({}))) ?? {}) as {
      partialSuccess?: { rejectedSpans?: string | number; errorMessage?: string };
    };
    const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
    if (rejected > 0)
      throw new UserError(`the collector at ${url} rejects ${rejected} spans: ${partialSuccess?.errorMessage ?? ''}`);
  }
}

function printPaths(paths: readonly CriticalPath[]): void {
  if (paths.length === 0)
    throw new UserError('the record has no complete start or stop of this pod: it may be too old');
  print(paths.map(pathTable).join('\n\n'));
}

/** The steps of a path with their times in milliseconds, and the sums of these. */
export function pathTable({ what, ms, busMs, queueMs, workMs, segments, from }: CriticalPath): string {
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
