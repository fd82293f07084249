import {
  type AnyCommand,
  type AnyDeclaration,
  type AnyFact,
  serviceContracts,
  subjectName,
  typeOf,
} from '@kubus/contracts';
import { type Use, type Edge, declarations, edges } from './declarations.ts';
import { type MessageKind, headerSchema, messageKinds } from './headers.ts';
import { type JsonSchema, jsonSchemas, partsOf, schemaName, typeName } from './json-schemas.ts';

interface Ref {
  readonly $ref: string;
}

interface Channel {
  readonly address: string;
  readonly summary: string;
  readonly parameters: Readonly<Record<string, { readonly description: string }>>;
  readonly messages: Readonly<Record<string, Ref>>;
}

interface Operation {
  readonly action: 'send' | 'receive';
  readonly channel: Ref;
  readonly summary: string;
  readonly tags: readonly { readonly name: string }[];
  readonly reply?: { readonly channel: Ref };
}

/** A document of AsyncAPI 3.0, restricted to what is used here. */
export interface AsyncApiDocument {
  readonly asyncapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly defaultContentType: string;
  readonly servers: Readonly<Record<string, object>>;
  readonly channels: Readonly<Record<string, Channel>>;
  readonly operations: Readonly<Record<string, Operation>>;
  readonly components: {
    readonly messages: Readonly<Record<string, object>>;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
}

const parameters = {
  node: { description: 'Name of the node, as a token.' },
  bucket: { description: 'Name of the node, its dots replaced by underscores.' },
  key: { description: 'What the message is about, as a token: the UID of a pod wherever there is one.' },
  instance: { description: 'An instance of a service, such as `pod-workers-0`.' },
  service: { description: 'The service of the instance that sends the command, such as `pod-workers`.' },
  server: { description: 'The service that answers, such as `cri-bridge`.' },
  area: { description: 'Area of the fact.' },
  name: { description: 'Name of the fact.' },
} as const;

const schemaRef = (name: string): Ref => ({ $ref: `#/components/schemas/${name}` });
const messageRef = (name: string): Ref => ({ $ref: `#/components/messages/${name}` });
const channelRef = (name: string): Ref => ({ $ref: `#/channels/${name}` });

/**
 * The contract of a node's bus as one AsyncAPI document: which service may publish or send what on which subject, with
 * the schemas of
 * payloads and headers, from the same declarations that the start-up check and the broker's permissions use.
 *
 * @param protocol how messages have to be handled, in Markdown: what a schema cannot express.
 */
export function asyncApiDocument(version: string, protocol: string): AsyncApiDocument {
  return {
    asyncapi: '3.0.0',
    info: { title: 'Kubus node bus', version, description: protocol },
    defaultContentType: 'application/json',
    servers: {
      node: {
        host: '127.0.0.1:4222',
        protocol: 'nats',
        description: 'The node’s NATS server (2.9 or later with JetStream). Each service has an nkey of its own.',
      },
    },
    channels: channels(),
    operations: Object.fromEntries(edges.map((edge) => [operationName(edge), operation(edge)])),
    components: {
      messages: messages(),
      schemas: {
        ...jsonSchemas((name) => schemaRef(name).$ref),
        ...Object.fromEntries(messageKinds.map((kind) => [headersName(kind), headerSchema(kind)])),
      },
    },
  };
}

function channels(): AsyncApiDocument['channels'] {
  const all = declarations.flatMap((declaration): [string, Channel][] => {
    const name = typeName(declaration);
    const subject = `kubus.{node}.${declaration.area}.${declaration.kind}.${subjectName(declaration)}.{key}`;
    const address = isCommand(declaration) ? `${subject}.{service}.{instance}` : subject;
    const published: [string, Channel] = [name, channel(address, declaration.about, [name])];
    if (declaration.kind !== 'fact') return [published];
    return [published, [storeName(declaration), storeChannel(declaration)]];
  });
  const completion = '{area}.fact.{name}.=complete.{instance}';
  const ofNode: Record<string, Channel> = {
    replies: channel(
      'kubus.{node}.reply.{service}.{instance}.{key}.{server}',
      'Replies to the commands of one instance; only that instance reads them.',
      [...declarations.filter(isCommand).map(replyName), 'arrived'],
    ),
    completions: channel(`kubus.{node}.${completion}`, 'An owner’s set of facts is complete.', ['completion']),
    'completions.store': channel(`$KV.kubus_{bucket}.${completion}`, 'Where completion marks are stored.', [
      'completion',
    ]),
  };
  return { ...Object.fromEntries(all), ...ofNode };
}

function channel(address: string, summary: string, messageNames: readonly string[]): Channel {
  const used = Object.entries(parameters).filter(([name]) => address.includes(`{${name}}`));
  return {
    address,
    summary,
    parameters: Object.fromEntries(used),
    messages: Object.fromEntries(messageNames.map((name) => [name, messageRef(name)])),
  };
}

function storeChannel(fact: AnyFact): Channel {
  const address = `$KV.kubus_{bucket}.${fact.area}.fact.${subjectName(fact)}.{key}`;
  return channel(address, `Where the owner stores it; the broker publishes each change. ${fact.about}`, [
    typeName(fact),
  ]);
}

function messages(): Record<string, object> {
  const declared = declarations.flatMap((declaration) =>
    partsOf(declaration).map(([part, schema]) =>
      part === 'result'
        ? message(replyName(declaration), 'reply', replyType(declaration), {
            summary: `${declaration.name}: its result when done, else what went wrong.`,
            payload: { anyOf: [schemaRef(schemaName(schema)), schemaRef('Failure')] },
          })
        : message(typeName(declaration), declaration.kind, typeOf(declaration), {
            summary: declaration.about,
            payload: schemaRef(schemaName(schema)),
          }),
    ),
  );
  const completion = message('completion', 'fact', undefined, {
    summary: 'All keys of an owner’s set; what it published before and is not among them is removed.',
    payload: schemaRef('Completion'),
  });
  const arrived = message('arrived', 'reply', undefined, {
    summary: 'The reply `accepted` or `attached` to any command: it has arrived, and its result follows.',
    payload: schemaRef('Arrived'),
  });
  return Object.fromEntries([...declared, completion, arrived]);
}

function message(
  name: string,
  kind: MessageKind,
  type: string | undefined,
  content: { summary: string; payload: object },
): [string, object] {
  const headers = schemaRef(headersName(kind));
  const typed = { properties: { 'Kubus-Type': { const: type } } };
  return [
    name,
    { name: type ?? name, ...content, headers: type === undefined ? headers : { allOf: [headers, typed] } },
  ];
}

const actions: Readonly<Record<Use, Operation['action']>> = {
  owns: 'send',
  calls: 'send',
  publishes: 'send',
  reads: 'receive',
  serves: 'receive',
  hears: 'receive',
};

function operation({ service, use, declaration }: Edge): Operation {
  const stored = declaration.kind === 'fact' && use === 'owns';
  return {
    action: actions[use],
    channel: channelRef(stored ? storeName(declaration) : typeName(declaration)),
    summary: `${service} (${serviceContracts[service].about}) ${use} ${typeOf(declaration)}`,
    tags: [{ name: service }],
    ...(isCommand(declaration) && { reply: { channel: channelRef('replies') } }),
  };
}

function operationName({ service, use, declaration }: Edge): string {
  return `${service}.${use}.${typeName(declaration)}`;
}

function isCommand(declaration: AnyDeclaration): declaration is AnyCommand {
  return declaration.kind === 'cmd';
}

function replyName(declaration: AnyDeclaration): string {
  return `${declaration.area}.reply.${declaration.name}.v${declaration.version}`;
}

function replyType(declaration: AnyDeclaration): string {
  return `${declaration.area}.reply.${declaration.name}/${declaration.version}`;
}

function storeName(fact: AnyFact): string {
  return `${typeName(fact)}.store`;
}

function headersName(kind: MessageKind): string {
  return `${kind}.headers`;
}
