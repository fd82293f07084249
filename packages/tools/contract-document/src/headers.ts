import { HEADER } from '@kubus/bus';
import type { JsonSchema } from './json-schemas.ts';

type HeaderName = keyof typeof HEADER;

/** The meaning of each header. A header of the bus that is missing in this table is a compile error. */
const headers: Readonly<Record<HeaderName, JsonSchema>> = {
  type: { pattern: '^[a-z]+\\.(fact|cmd|event|reply)\\.[A-Za-z.]+/[0-9]+$', description: 'Message type and version.' },
  source: { pattern: '^.+$', description: 'The publishing instance, such as `pod-workers-0`.' },
  epoch: { pattern: '^[0-9]+$', description: 'Epoch of the instance; greater than each earlier one.' },
  seq: { pattern: '^[0-9]+$', description: 'Sequence number of the publisher in this epoch; a gap shows a loss.' },
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
  received: {
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$',
    description:
      'When the publisher received the first cause; missing when that was a message of its own. RFC 3339, UTC.',
  },
  began: {
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$',
    description:
      'When the publisher started to work on the first cause, if it had to wait in a queue: not before Kubus-Heard, not after Kubus-Time. RFC 3339, UTC.',
  },
  trace: {
    pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$',
    description: 'W3C trace context: the trace of the first cause, and a span for this message.',
  },
  version: { pattern: '^[0-9]+$', description: 'The owner’s counter; with the epoch it orders the values of a key.' },
  term: {
    pattern: '^[0-9]+$',
    description: 'The term in which the instance owns the key; a value of a greater term wins, whatever its epoch.',
  },
  removed: { const: 'true', description: 'The key is removed; there is no payload.' },
  command: {
    pattern: '^[0-9]+\\.[0-9]+\\.[0-9]+$',
    description:
      '`<fencing token>.<number>.<lowest number still open>`: the sender’s fencing token, and the command’s number under it.',
  },
  server: {
    pattern: '^[0-9]+$',
    description: 'The announced epoch of the server that is to run it; void for each other one.',
  },
  status: { enum: ['accepted', 'attached', 'done', 'failed', 'refused'], description: 'Outcome of the command.' },
};

const common = {
  required: ['type', 'source', 'epoch', 'seq', 'time', 'node', 'trace'],
  optional: ['pod', 'causes', 'received', 'began'],
} as const satisfies Record<string, readonly HeaderName[]>;

/** Headers that a kind of message has besides the common ones. */
const ofKind = {
  fact: { required: ['version'], optional: ['term', 'removed'] },
  cmd: { required: ['command', 'server'], optional: [] },
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
