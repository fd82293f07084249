import {
  type AnyEvent,
  type AnyFact,
  type ServiceContract,
  type ServiceName,
  commandPattern,
  completeKey,
  everyServiceReads,
  factKey,
  factPattern,
  instanceJournal,
  patternOf,
  refusedMessage,
  replyPattern,
  serviceInstance,
  subjectOf,
} from '@kubus/contracts';
import { hubCalls } from './hub-link.ts';
import {
  STREAMS_API,
  bucketStream,
  inboxPrefix,
  nodeSubject,
  recordStream,
  storePattern,
  storeSubject,
} from './names.ts';

/** The subjects that one identity may publish and subscribe to; everything else is refused by the broker. */
export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** The identity that all command line programs share. */
export const PEOPLE = 'cli-0';

/**
 * The identity of programs that follow a node without being part of it, in any language: it may read every message, both
 * live and in the record, and publish nothing.
 */
export const READER = 'reader';

/** The only identity in the account of the node's streams: the launcher creates, changes and purges them with it. */
export const STREAMS = 'streams';

/** Its instance. */
export const streamsInstance = `${STREAMS}-0`;

export interface Identity {
  readonly service: ServiceName | typeof READER | typeof STREAMS;
  /** `<service>-<slot>`. */
  readonly instance: string;
}

/**
 * The permissions of one identity, derived from the contracts (rule:bus-permissions): exactly the subjects that its service
 * declares, its own replies and inbox, and the few JetStream calls that facts need.
 */
export function permissionsOf(
  identity: Identity,
  node: string,
  contracts: Readonly<Record<ServiceName, ServiceContract>>,
): Permissions {
  const { service, instance } = identity;
  if (service === READER) return ofReader(instance, node);
  if (service === STREAMS) return ofStreams(instance, node);
  const contract = contracts[service];
  const callers = (Object.keys(contracts) as ServiceName[]).filter((other) =>
    contracts[other].calls.some((command) => contract.serves.includes(command)),
  );
  const watched: AnyFact[] = [...new Set([...contract.owns, ...contract.reads, ...everyServiceReads])];
  const isPeople = service === 'cli';
  const special = isPeople ? ofPeople(node) : ofInstance({ service, instance }, node);
  const recorder = service === 'observatory' ? recordCalls(node) : [];
  const publish = [
    ...contract.owns.map((fact) => storePattern(node, fact)),
    ...contract.calls.map((command) => commandPattern(node, command, isPeople ? { service } : { service, instance })),
    ...contract.publishes.map((event) => eventSubject(identity, node, event)),
    ...callers.map((caller) => replyPattern(node, { service: caller }, service)),
    `${STREAMS_API}.STREAM.INFO.${bucketStream(node)}`,
    ...watched.map((fact) => `${STREAMS_API}.CONSUMER.CREATE.${bucketStream(node)}.*.${storePattern(node, fact)}`),
    ...special.publish,
    ...recorder,
  ];
  const subscribe = [
    `${inboxPrefix(instance)}.>`,
    ...watched.map((fact) => nodeSubject(node, factPattern(fact))),
    ...contract.serves.map((command) => patternOf(node, command)),
    ...contract.hears.map((event) => patternOf(node, event)),
    ...special.subscribe,
  ];
  return { publish: [...new Set(publish)], subscribe: [...new Set(subscribe)] };
}

/** The key of an event that every service publishes about itself is its instance. */
function eventSubject({ instance }: Identity, node: string, event: AnyEvent): string {
  return event.publisher === 'each' ? subjectOf(node, event, instance) : patternOf(node, event);
}

/** A service's instance announces itself, reads the replies to its own commands and answers discovery. */
function ofInstance({ service, instance }: { service: ServiceName; instance: string }, node: string): Permissions {
  return {
    publish: [
      storeSubject(node, factKey(serviceInstance, instance)),
      storeSubject(node, completeKey(serviceInstance, instance)),
      subjectOf(node, refusedMessage, instance),
      subjectOf(node, instanceJournal, instance),
      // Only command line programs use discovery, and the last part of their inbox subjects cannot be guessed.
      `${inboxPrefix(PEOPLE)}.>`,
    ],
    subscribe: [replyPattern(node, { service, instance }), ...discoverySubjects(service, instance)],
  };
}

/**
 * Command line programs: any number of them share one identity, each with its own instance name. They follow every message of
 * the node and read its record, and announce nothing.
 */
function ofPeople(node: string): Permissions {
  return {
    publish: [
      patternOf(node, refusedMessage),
      `${STREAMS_API}.CONSUMER.CREATE.${recordStream(node)}.*.${nodeSubject(node, '>')}`,
      ...discoverySubjects('*', '*'),
    ],
    subscribe: [nodeSubject(node, '>')],
  };
}

function ofReader(instance: string, node: string): Permissions {
  const bucket = bucketStream(node);
  return {
    publish: [
      `${STREAMS_API}.STREAM.INFO.${bucket}`,
      `${STREAMS_API}.CONSUMER.CREATE.${bucket}.*.${storeSubject(node, '>')}`,
      ...recordCalls(node),
    ],
    subscribe: [`${inboxPrefix(instance)}.>`, nodeSubject(node, '>')],
  };
}

/** Following the record from any position. Its messages are delivered to an inbox: no other subjects are subscribed to. */
function recordCalls(node: string): string[] {
  const stream = recordStream(node);
  return [
    `${STREAMS_API}.STREAM.INFO.${stream}`,
    `${STREAMS_API}.CONSUMER.CREATE.${stream}.*.${nodeSubject(node, '>')}`,
    `${STREAMS_API}.CONSUMER.MSG.NEXT.${stream}.*`,
  ];
}

/**
 * Creating, changing and removing the node's own two streams, creating that for a hub, and finding what can be purged from the bucket. In
 * the account of the streams: nothing of this exists in that of the services.
 */
function ofStreams(instance: string, node: string): Permissions {
  const calls = ['CREATE', 'UPDATE', 'INFO', 'PURGE', 'DELETE'];
  const streams = [bucketStream(node), recordStream(node)];
  return {
    publish: [
      '$JS.API.INFO',
      ...hubCalls,
      `$JS.API.CONSUMER.CREATE.${bucketStream(node)}.*.${storeSubject(node, '>')}`,
      ...streams.flatMap((stream) => calls.map((call) => `$JS.API.STREAM.${call}.${stream}`)),
    ],
    subscribe: [`${inboxPrefix(instance)}.>`],
  };
}

/** The subjects of the NATS services protocol (ADR-32) for one instance. */
export function discoverySubjects(service: string, instance: string): string[] {
  return ['PING', 'INFO', 'STATS'].flatMap((verb) => [
    `$SRV.${verb}`,
    `$SRV.${verb}.${service}`,
    `$SRV.${verb}.${service}.${instance}`,
  ]);
}
