import { describe, expect, test } from '@jest/globals';
import { HEADER } from '@kubus/bus';
import otlp from '@opentelemetry/otlp-transformer/build/src/generated/root.js';
import * as z from 'zod';
import { chromeTraceOf, jsonLinesOf, otlpOf } from '../src/index.ts';
import { REF, Story, heardAt, tellPod } from './story.ts';

interface ProtobufType {
  fromObject(json: object): object;
  toObject(message: object, options: object): unknown;
}

/** The protocol definition as compiled by OpenTelemetry's own library. */
const official = otlp as unknown as {
  opentelemetry: { proto: { collector: { trace: { v1: { ExportTraceServiceRequest: ProtobufType } } } } };
};

/** A pod's life, a plugin run in it, a command that has failed, and a message with causes of two traces. */
function exampleStory(): Story {
  const story = new Story();
  tellPod(story);
  const run = story.say('cni-bridge-0', 20, [], {
    type: 'network.event.plugin/1',
    pod: REF.uid,
    payload: { command: 'ADD', plugin: 'bridge', what: 'begin', containerId: 'c1', ifname: 'eth0' },
  });
  const asked = story.say('prober-0', 40, [heardAt(run, 39)], { type: 'runtime.cmd.ExecSync/1', pod: REF.uid });
  const other = story.say('prober-0', 40.5, []);
  story.say('cri-bridge-0', 50.125, [heardAt(asked, 41), heardAt(other, 40.75)], {
    type: 'runtime.reply.ExecSync/1',
    pod: REF.uid,
    headers: { [HEADER.status]: 'failed' },
    payload: { code: 'Unknown', message: 'no such container' },
  });
  return story;
}

const attribute = z.object({ key: z.string(), value: z.record(z.string(), z.string()) });
const spanSchema = z.object({
  ...{ traceId: z.string(), spanId: z.string(), parentSpanId: z.string().optional(), name: z.string() },
  ...{ kind: z.number(), startTimeUnixNano: z.string(), endTimeUnixNano: z.string() },
  attributes: z.array(attribute),
  links: z.array(z.object({ traceId: z.string(), spanId: z.string() })),
  status: z.object({ code: z.number().optional(), message: z.string().optional() }),
});
const requestSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: z.array(attribute) }),
      scopeSpans: z.array(z.object({ spans: z.array(spanSchema) })),
    }),
  ),
});

const values = (attributes: readonly z.infer<typeof attribute>[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

describe('OTLP', () => {
  const story = exampleStory();
  const lines = [...otlpOf(story.messages)];
  const spans = lines
    .flatMap((line) => requestSchema.parse(JSON.parse(line)).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
  const spanOf = (name: string) => spans.find((span) => span.name === name);

  test('conforms to the official schema, without unknown fields', () => {
    const { ExportTraceServiceRequest } = official.opentelemetry.proto.collector.trace.v1;
    for (const line of lines) {
      expect(line.endsWith('\n')).toBe(true);
      const request = z.record(z.string(), z.unknown()).parse(JSON.parse(line));
      // Ids are hexadecimal in OTLP's JSON, but base64 in protobuf's JSON mapping.
      const message = ExportTraceServiceRequest.fromObject(request);
      const again = ExportTraceServiceRequest.toObject(message, { longs: String, enums: Number, bytes: String });
      expect(again).toEqual(withoutEmpty(request));
    }
  });

  test('has one span for each message, under its first cause, linked to the others', () => {
    expect(spans).toHaveLength(story.messages.length);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    const [run, asked, reply] = [
      spanOf('send network.event.plugin'),
      spanOf('process runtime.cmd.ExecSync'),
      spanOf('process runtime.reply.ExecSync'),
    ];
    expect([run?.kind, run?.parentSpanId, asked?.kind]).toEqual([4, undefined, 5]);
    expect([asked?.parentSpanId, asked?.traceId]).toEqual([run?.spanId, run?.traceId]);
    expect(reply?.parentSpanId).toBe(asked?.spanId);
    expect(reply?.links).toEqual([{ traceId: expect.any(String), spanId: spanOf('send x.event.y')?.spanId }]);
    expect(reply?.status).toEqual({ code: 2, message: 'no such container' });
  });

  test('has spans with the times of the work, in nanoseconds', () => {
    const reply = spanOf('process runtime.reply.ExecSync');
    expect([reply?.startTimeUnixNano, reply?.endTimeUnixNano]).toEqual(['41000000', '50125000']);
    const run = spanOf('process runtime.reply.RunPodSandbox');
    expect([run?.startTimeUnixNano, run?.endTimeUnixNano]).toEqual(['15000000', '30000000']);
  });

  test('names pod, container, service and node', () => {
    expect(values(spanOf('send network.event.plugin')?.attributes ?? [])).toMatchObject({
      'messaging.system': 'nats',
      'messaging.destination.name': 'kubus.n.network.event.plugin.u1',
      'messaging.operation.type': 'send',
      'k8s.pod.uid': 'u1',
      'k8s.pod.name': 'web-u1',
      'k8s.namespace.name': 'default',
      'container.id': 'c1',
    });
    const [line = ''] = lines;
    const resources = requestSchema
      .parse(JSON.parse(line))
      .resourceSpans.map(({ resource }) => values(resource.attributes));
    expect(resources).toContainEqual({
      'service.namespace': 'kubus',
      'service.name': 'cni-bridge',
      'service.instance.id': 'cni-bridge-0',
      'k8s.node.name': 'n',
    });
  });

  test('splits many messages into several requests', () => {
    const many = new Story();
    for (let at = 0; at < 1_001; at++) many.say('a-0', at, []);
    expect([...otlpOf(many.messages)]).toHaveLength(3);
    expect([...otlpOf([])]).toEqual([]);
  });

  /** Values that protobuf does not distinguish from absent ones. */
  function withoutEmpty(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(withoutEmpty);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).filter(([, one]) => !(Array.isArray(one) && one.length === 0));
    return Object.fromEntries(entries.map(([name, one]) => [name, withoutEmpty(one)]));
  }
});

describe('a Chrome trace', () => {
  const eventSchema = z.object({
    ...{ ph: z.enum(['X', 'M', 's', 'f']), name: z.string(), pid: z.number(), tid: z.number().optional() },
    ...{ ts: z.number().optional(), dur: z.number().optional(), id: z.number().optional(), bp: z.string().optional() },
    args: z.record(z.string(), z.unknown()).optional(),
  });
  const read = (story: Story) =>
    z
      .object({ traceEvents: z.array(eventSchema) })
      .parse(JSON.parse([...chromeTraceOf(story.messages)].join('')))
      .traceEvents.map((event) => ({ ...event, tid: event.tid ?? 0, ts: event.ts ?? 0, dur: event.dur ?? 0 }));
  const story = exampleStory();
  const events = read(story);

  test('has a process for each service and a slice for each message, without overlaps in a track', () => {
    const names = events
      .filter(({ ph, name }) => ph === 'M' && name === 'process_name')
      .map(({ args }) => args?.['name']);
    expect([...names].sort()).toEqual([...new Set(story.briefs.map(({ service }) => service))].sort());
    const slices = events.filter(({ ph }) => ph === 'X');
    expect(slices).toHaveLength(story.messages.length);
    for (const track of Map.groupBy(slices, ({ pid, tid }) => `${pid} ${tid}`).values()) {
      const sorted = track.toSorted((a, b) => a.ts - b.ts);
      sorted.forEach(({ ts }, index) => {
        const before = sorted[index - 1];
        if (before !== undefined) expect(ts).toBeGreaterThanOrEqual(before.ts + before.dur);
      });
    }
  });

  test('has an arrow for each cause, from slice to slice, never back in time', () => {
    const [begins, ends] = [events.filter(({ ph }) => ph === 's'), events.filter(({ ph }) => ph === 'f')];
    expect(begins).toHaveLength(story.briefs.flatMap(({ causes }) => causes).length);
    expect(new Set(begins.map(({ id }) => id)).size).toBe(begins.length);
    const slices = events.filter(({ ph }) => ph === 'X');
    const isIn = (event: (typeof events)[number]) =>
      slices.some(
        ({ pid, tid, ts, dur }) => pid === event.pid && tid === event.tid && ts <= event.ts && event.ts <= ts + dur,
      );
    for (const begin of begins) {
      const end = ends.find(({ id }) => id === begin.id);
      expect([isIn(begin), end !== undefined && isIn(end)]).toEqual([true, true]);
      expect(end?.ts).toBeGreaterThanOrEqual(begin.ts);
    }
  });

  test('without messages is a valid document', () => {
    expect(read(new Story())).toEqual([]);
  });
});

test('JSON lines have every message with its parsed payload', () => {
  const story = exampleStory();
  const lines = [...jsonLinesOf(story.messages)].map((line): unknown => JSON.parse(line));
  expect(lines).toHaveLength(story.messages.length);
  expect(lines[1]).toMatchObject({ seq: 2, stored: 1.5, payload: { operation: 'ADD' } });
});
