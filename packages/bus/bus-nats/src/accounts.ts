import { serviceNames } from '@kubus/contracts';
import { type HubLink, hubImports, nodeAccountExports } from './hub-link.ts';
import {
  STREAMS_API,
  bucketStream,
  busAccount,
  nodeSubject,
  recordStream,
  storeSubject,
  streamsAccount,
} from './names.ts';

/**
 * NATS does not check the reply subject of a request, so whoever may ask the broker for anything has it publish on any subject of his
 * account. Therefore the node's streams have an account of their own. What the broker answers into the account of the services gets no
 * further: neither to the streams' API nor into a stream, even where the services' account imports the subject.
 */
export interface AccountLinks {
  readonly exports: readonly string[];
  readonly imports: readonly string[];
}

/** Exports and imports of the account of a node's streams. */
export function streamsLinks(node: string, hub: HubLink | undefined): AccountLinks {
  const to = `accounts: [${quoted(busAccount(node))}]`;
  const from = `account: ${quoted(busAccount(node))}`;
  return {
    exports: [
      ...calls(node).map(({ subject, answers }) => `{ service: ${quoted(subject)}, response_type: ${answers}, ${to} }`),
      `{ service: ${quoted(storeSubject(node, '>'))}, ${to} }`,
      ...delivered(node).map((subject) => `{ stream: ${quoted(subject)}, ${to} }`),
    ],
    imports: [
      ...recorded(node).map((subject) => `{ stream: { ${from}, subject: ${quoted(subject)} } }`),
      ...(hub === undefined ? [] : hubImports),
    ],
  };
}

/** Exports and imports of the account of a node's services. */
export function busLinks(node: string, hub: HubLink | undefined): AccountLinks {
  const to = `accounts: [${quoted(streamsAccount(node))}]`;
  const from = `account: ${quoted(streamsAccount(node))}`;
  return {
    exports: [
      ...recorded(node).map((subject) => `{ stream: ${quoted(subject)}, ${to} }`),
      ...(hub === undefined ? [] : nodeAccountExports(hub)),
    ],
    imports: [
      ...calls(node).map(({ subject }) => {
        // Under another name: every account has a JetStream API, which would answer too.
        const own = subject.replace('$JS.API', STREAMS_API);
        return `{ service: { ${from}, subject: ${quoted(subject)} }, to: ${quoted(own)} }`;
      }),
      `{ service: { ${from}, subject: ${quoted(storeSubject(node, '>'))} } }`,
      ...delivered(node).map((subject) => `{ stream: { ${from}, subject: ${quoted(subject)} } }`),
    ],
  };
}

/** The calls of the JetStream API that services and readers need; none of them changes a stream. */
function calls(node: string): { subject: string; answers: 'Singleton' | 'Stream' }[] {
  const bucket = bucketStream(node);
  const record = recordStream(node);
  return [
    ...[
      `STREAM.INFO.${bucket}`,
      `STREAM.INFO.${record}`,
      `CONSUMER.CREATE.${bucket}.*.${storeSubject(node, '>')}`,
      `CONSUMER.CREATE.${record}.*.${nodeSubject(node, '>')}`,
    ].map((call) => ({ subject: `$JS.API.${call}`, answers: 'Singleton' as const })),
    { subject: `$JS.API.CONSUMER.MSG.NEXT.${record}.*`, answers: 'Stream' },
  ];
}

/** What the broker publishes for services: changed facts, and what consumers deliver. */
function delivered(node: string): string[] {
  return [nodeSubject(node, '*.fact.>'), '_INBOX.>'];
}

/** What services publish and the record keeps. None of these subjects may match {@link delivered}, which would form a cycle. */
function recorded(node: string): string[] {
  const replies = serviceNames.map((name) => `reply.${name}.>`);
  return ['*.cmd.>', '*.event.>', ...replies].map((pattern) => nodeSubject(node, pattern));
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
