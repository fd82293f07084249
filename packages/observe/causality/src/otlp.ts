import { nameOf } from './segments.ts';
import { MessageIndex } from './message-index.ts';
import { type TimedMessage, timedMessages } from './spans.ts';
import type { StoredMessage } from '@kubus/bus';
import { textAt } from './summary.ts';

/** Spans in one request: a collector takes some megabytes at once. */
const SPANS = 500;

/** Numbers of `opentelemetry/proto/trace/v1/trace.proto`. */
const kinds = { producer: 4, consumer: 5 } as const;
const ERROR = 2;

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly intValue: string };
}

interface Context {
  readonly traceId: string;
  readonly spanId: string;
}

interface Span extends Context {
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly links: readonly Context[];
  readonly status: { readonly code?: number; readonly message?: string };
}

/**
 * OTLP as JSON lines: each chunk is one line with its line feed, a whole `ExportTraceServiceRequest` of up to 500 spans.
 * The `otlpjsonfile` receiver of the OpenTelemetry collector reads such a file; each line alone is a body for
 * `POST /v1/traces`. `messages` in the order of the broker.
 *
 * Each message is one span, by the semantic conventions for messaging: a message caused by one of another service
 * is its processing (CONSUMER), all others are PRODUCER spans. Its parent is its
 * first cause; the other causes are links.
 */
export function* otlpOf(messages: Iterable<StoredMessage>): Generator<string> {
  const contexts = new SpanContexts();
  let batch: { message: TimedMessage; span: Span }[] = [];
  for (const message of timedMessages(messages)) {
    contexts.learn(message);
    batch.push({ message, span: spanOf(message, contexts) });
    if (batch.length < SPANS) continue;
    yield requestOf(batch);
    batch = [];
  }
  if (batch.length > 0) yield requestOf(batch);
}

/** Trace and span of every message. Equal parts are stored once for all messages of a trace and of a publisher's epoch. */
class SpanContexts {
  readonly #spans = new MessageIndex<Context>();
  readonly #traces = new Map<string, string>();

  learn({ recorded }: TimedMessage): void {
    const { id, traceId, spanId } = recorded.envelope.cause;
    const trace = this.#traces.get(traceId) ?? traceId;
    this.#traces.set(trace, trace);
    this.#spans.set(id, { traceId: trace, spanId });
  }

  get(id: string): Context | undefined {
    return this.#spans.get(id);
  }
}

function spanOf(message: TimedMessage, contexts: SpanContexts): Span {
  const { brief, recorded, from, payload } = message;
  const { traceId, spanId } = recorded.envelope.cause;
  const [first, ...others] = brief.causes.map((id) => contexts.get(id));
  const known = others.filter((context) => context !== undefined);
  // A cause of another trace cannot be a parent.
  const isParent = first?.traceId === traceId;
  const processes = brief.heard !== undefined;
  const failed = failureOf(message, payload);
  return {
    traceId,
    spanId,
    ...(isParent && { parentSpanId: first.spanId }),
    name: `${processes ? 'process' : 'send'} ${nameOf(brief)}`,
    kind: processes ? kinds.consumer : kinds.producer,
    startTimeUnixNano: nanoseconds(from),
    endTimeUnixNano: nanoseconds(brief.at),
    attributes: attributesOf(message, processes),
    links: first === undefined || isParent ? known : [first, ...known],
    status: failed === undefined ? {} : { code: ERROR, message: failed },
  };
}

/** The error of a failed reply or of any other message. */
function failureOf({ brief }: TimedMessage, payload: unknown): string | undefined {
  if (brief.kind !== 'reply') return textAt(payload, 'error.message');
  const [status] = brief.summary.split(' ', 1);
  return status === 'failed' || status === 'refused' ? (textAt(payload, 'message') ?? status) : undefined;
}

function attributesOf({ brief, podName, containerId }: TimedMessage, processes: boolean): Attribute[] {
  return [
    text('messaging.system', 'nats'),
    text('messaging.destination.name', brief.subject),
    text('messaging.operation.name', processes ? 'process' : 'publish'),
    text('messaging.operation.type', processes ? 'process' : 'send'),
    text('messaging.message.id', brief.id),
    { key: 'messaging.message.body.size', value: { intValue: String(brief.bytes) } },
    ...(brief.pod === undefined ? [] : [text('k8s.pod.uid', brief.pod)]),
    ...(podName === undefined
      ? []
      : [text('k8s.pod.name', podName.name), text('k8s.namespace.name', podName.namespace)]),
    ...(containerId === undefined ? [] : [text('container.id', containerId)]),
    text('kubus.message.type', brief.type),
    text('kubus.message.summary', brief.summary),
  ];
}

/** One resource for each instance that has spans in it. */
function requestOf(batch: readonly { message: TimedMessage; span: Span }[]): string {
  const instances = Map.groupBy(batch, ({ message }) => message.brief.source);
  const resourceSpans = [...instances.values()].map((entries) => {
    const [{ message } = {}] = entries;
    const { brief, recorded } = message ?? {};
    return {
      resource: {
        attributes: [
          text('service.namespace', 'kubus'),
          text('service.name', brief?.service ?? ''),
          text('service.instance.id', brief?.source ?? ''),
          text('k8s.node.name', recorded?.envelope.node ?? ''),
        ],
      },
      scopeSpans: [{ scope: { name: 'kubus' }, spans: entries.map(({ span }) => span) }],
    };
  });
  return `${JSON.stringify({ resourceSpans })}\n`;
}

function text(key: string, value: string): Attribute {
  return { key, value: { stringValue: value } };
}

/** Milliseconds since the epoch with microseconds as decimal nanoseconds: more than a double can hold. */
function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1000)) * 1000n);
}
