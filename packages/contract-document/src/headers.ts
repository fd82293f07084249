import { HEADER } from '@kubus/bus';
import type { JsonSchema } from './json-schemas.ts';

type HeaderName = keyof typeof HEADER;

/** What each header says. A header that the bus has and this table has not does not compile. */
const headers: Readonly<Record<HeaderName, JsonSchema>> = {
  type: { pattern: '^[a-z]+\\.(fact|cmd|event|reply)\\.[A-Za-z.]+/[0-9]+$', description: 'Message type and version.' },
  source: { pattern: '^.+$', description: 'The publishing instance, such as `pod-workers-0`.' },
  epoch: { pattern: '^[0-9]+$', description: 'Life of the instance; greater than in every earlier life.' },
  seq: { pattern: '^[0-9]+$', description: 'Running number of the publisher in this life; a gap shows a loss.' },
  time: {
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$',
    description: 'When it was published: RFC 3339, UTC, microseconds.',
  },
  node: { pattern: '^.+$', description: 'Name of the node.' },
  pod: { pattern: '^.+$', description: 'UID of the pod that the message is about.' },
  causes: {
    pattern: '^[^,]+\\.[0-9]+\\.[0-9]+(,[^,]+\\.[0-9]+\\.[0-9]+)*$',
    description: 'Ids (`<source>.<epoch>.<seq>`) of the messages that it depended on, the last awaited first.',
  },
  heard: {
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$',
    description: 'When the publisher got the first cause; missing when that was a message of its own. RFC 3339, UTC.',
  },
  began: {
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$',
    description:
      'When the publisher’s turn to work on the first cause had come, where it had to wait for one: not before Kubus-Heard, not after Kubus-Time. RFC 3339, UTC.',
  },
  trace: {
    pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$',
    description: 'W3C trace context: the trace of the first cause, and a span for this message.',
  },
  version: { pattern: '^[0-9]+$', description: 'The owner’s counter; with the epoch it orders the values of a key.' },
  term: {
    pattern: '^[0-9]+$',
    description: 'The term under which the instance has the key; a value of a greater term counts, whatever its epoch.',
  },
  removed: { const: 'true', description: 'The key is gone; there is no payload.' },
  command: {
    pattern: '^[0-9]+\\.[0-9]+\\.[0-9]+$',
    description:
      '`<hold>.<number>.<lowest number still open>`: the epoch of the sender’s hold, and its numbering in it.',
  },
  status: { enum: ['accepted', 'attached', 'done', 'failed', 'refused'], description: 'What became of the command.' },
};

const common = {
  required: ['type', 'source', 'epoch', 'seq', 'time', 'node', 'trace'],
  optional: ['pod', 'causes', 'heard', 'began'],
} as const satisfies Record<string, readonly HeaderName[]>;

/** Headers that a kind of message has besides the common ones. */
const ofKind = {
  fact: { required: ['version'], optional: ['term', 'removed'] },
  cmd: { required: ['command'], optional: [] },
  event: { required: [], optional: [] },
  reply: { required: ['command', 'status'], optional: [] },
} as const satisfies Record<string, Record<string, readonly HeaderName[]>>;

/** The kinds of messages on the bus: the three that are declared, and the replies to commands. */
export type MessageKind = keyof typeof ofKind;
export const messageKinds = Object.keys(ofKind) as MessageKind[];

/** JSON Schema of the headers of a kind of message. The broker may add headers of its own (`Nats-...`). */
export function headerSchema(kind: MessageKind): JsonSchema {
  const required: HeaderName[] = [...common.required, ...ofKind[kind].required];
  const all: HeaderName[] = [...required, ...common.optional, ...ofKind[kind].optional];
  return {
    type: 'object',
    required: required.map((name) => HEADER[name]),
    properties: Object.fromEntries(all.map((name) => [HEADER[name], { type: 'string', ...headers[name] }])),
  };
}
