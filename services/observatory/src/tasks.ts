import { type TopologyFacts, chromeTraceOf, compare, jsonLinesOf, latencyOf, otlpOf } from '@kubus/causality';
import { contractsOf } from '@kubus/contracts';
import { type MessageFilter, RecordingReader, exportRecording, importRecording, sealRecording } from '@kubus/recording';
import { messageOf, pageOf, sideOf, timelineOf, topologyOf } from './documents.ts';

type What = 'start' | 'stop';
export type TraceFormat = keyof typeof formats;

/** One side of a comparison: a recording in a file, and one of its pods or all of them. */
export interface Side {
  readonly file: string;
  readonly name: string;
  readonly uid?: string | undefined;
}

/** Questions that are answered at once, whatever the size of the recording. */
export type ShortTask =
  | { readonly do: 'document' | 'version' | 'pods'; readonly file: string }
  | { readonly do: 'density'; readonly file: string; readonly buckets: number }
  | { readonly do: 'page'; readonly file: string; readonly filter: MessageFilter; readonly limit: number }
  | { readonly do: 'message'; readonly file: string; readonly seq: number };

/** Questions that are asked about a recording repeatedly. */
export type AnalysisTask =
  | { readonly do: 'latency'; readonly file: string; readonly what: What }
  /** `faults`: including what is normal on a node that may be disturbed. */
  | { readonly do: 'map'; readonly file: string; readonly faults: boolean };

/** Questions that may take long. */
export type LongTask =
  | { readonly do: 'timeline'; readonly file: string; readonly uid: string }
  /** `now`: of a node that goes on, what the recording never says. */
  | {
      readonly do: 'topology';
      readonly file: string;
      readonly at: number | undefined;
      readonly now: TopologyFacts | undefined;
    }
  | AnalysisTask
  | { readonly do: 'seal'; readonly file: string }
  | { readonly do: 'compare'; readonly what: What; readonly left: Side; readonly right: Side }
  | { readonly do: 'export'; readonly file: string; readonly to: string; readonly name: string; readonly at: number }
  | { readonly do: 'import'; readonly file: string; readonly to: string; readonly name: string };

/** A whole recording, or everything about a pod, in pieces. */
export interface TraceTask {
  readonly do: 'trace';
  readonly file: string;
  readonly format: TraceFormat;
  readonly pod?: string | undefined;
}

const formats = { otlp: otlpOf, chrome: chromeTraceOf, jsonl: jsonLinesOf };

/**
 * Creates or changes a file, or answers a question about one. Synchronous: for a thread that has nothing else to do.
 */
export function perform(task: ShortTask | LongTask): unknown {
  switch (task.do) {
    case 'seal':
      sealRecording(task.file);
      return null;
    case 'export':
      exportRecording(task.file, task.to, task);
      return null;
    case 'import':
      importRecording(task.file, task.to, task);
      return null;
    case 'compare': {
      const { what, left, right } = task;
      return reading(left.file, (one) =>
        reading(right.file, (other) =>
          compare(what, sideOf(one, what, left.name, left.uid), sideOf(other, what, right.name, right.uid)),
        ),
      );
    }
    default:
      return reading(task.file, (reader) => answer(reader, task));
  }
}

function answer(
  reader: RecordingReader,
  task: ShortTask | Exclude<LongTask, { do: 'seal' | 'export' | 'import' | 'compare' }>,
): unknown {
  switch (task.do) {
    case 'document':
      return reader.document();
    case 'version':
      return reader.version;
    case 'pods':
      return reader.pods();
    case 'density':
      return reader.density(task.buckets);
    case 'page':
      return pageOf(reader, task.filter, task.limit);
    case 'message':
      return messageOf(reader, task.seq);
    case 'timeline':
      return timelineOf(reader, task.uid);
    case 'topology':
      return topologyOf(reader, task);
    case 'latency':
      return latencyOf(task.what, reader.paths(task.what));
    case 'map':
      return reader.serviceMap(contractsOf(task));
  }
}

/** Characters that are gathered before a piece is passed on. */
const PIECE = 128 * 1024;

/** The pieces of a trace. Between two pieces no file is open, so that the recording can end in the meantime. */
export function* tracePieces({ file, format, pod }: TraceTask): Generator<string> {
  const reader = new RecordingReader(file);
  try {
    let piece = '';
    for (const text of formats[format](pod === undefined ? reader.all() : reader.podMessages(pod))) {
      piece += text;
      if (piece.length < PIECE) continue;
      reader.close();
      yield piece;
      piece = '';
    }
    if (piece !== '') yield piece;
  } finally {
    reader.close();
  }
}

function reading<T>(file: string, read: (reader: RecordingReader) => T): T {
  const reader = new RecordingReader(file);
  try {
    return read(reader);
  } finally {
    reader.close();
  }
}
