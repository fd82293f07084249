import {
  type AnyFact,
  type ServiceContract,
  type ServiceName,
  completeKey,
  factKey,
  factPattern,
  patternOf,
  refusedMessage,
  replyPattern,
  serviceInstance,
  subjectOf,
} from '@kubus/contracts';
import { bucketStream, inboxPrefix, nodeSubject, recordStream, storePattern, storeSubject } from './names.ts';

/** What one identity may publish and subscribe to; everything else is refused by the broker. */
export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

export interface Identity {
  readonly service: ServiceName;
  /** `<service>-<slot>`. */
  readonly instance: string;
}

/**
 * The permissions of one identity, derived from the contracts (DESIGN rule 12): exactly the subjects that its service
 * declares, its own replies and inbox, and the few JetStream calls that facts need.
 */
export function permissionsOf(
  identity: Identity,
  node: string,
  contracts: Readonly<Record<ServiceName, ServiceContract>>,
): Permissions {
  const { service, instance } = identity;
  const contract = contracts[service];
  const callers = (Object.keys(contracts) as ServiceName[]).filter((other) =>
    contracts[other].calls.some((command) => contract.serves.includes(command)),
  );
  const watched: AnyFact[] = [...new Set([...contract.owns, ...contract.reads, serviceInstance])];
  const publish = [
    ...contract.owns.flatMap((fact) => ownedSubjects(node, fact, instance)),
    ...ownedSubjects(node, serviceInstance, instance),
    subjectOf(node, refusedMessage, instance),
    ...contract.calls.map((command) => patternOf(node, command)),
    ...contract.publishes.map((event) => patternOf(node, event)),
    ...callers.map((caller) => replyPattern(node, caller)),
    `$JS.API.STREAM.INFO.${bucketStream(node)}`,
    ...watched.map((fact) => `$JS.API.CONSUMER.CREATE.${bucketStream(node)}.*.${storePattern(node, fact)}`),
    // Answers to discovery, which people and the launcher ask for.
    `${inboxPrefix('cli-0')}.>`,
    `${inboxPrefix('launcher-0')}.>`,
  ];
  const subscribe = [
    `${inboxPrefix(instance)}.>`,
    ...watched.map((fact) => nodeSubject(node, factPattern(fact))),
    ...contract.serves.map((command) => patternOf(node, command)),
    ...contract.hears.map((event) => patternOf(node, event)),
    // Many command line programs run at once under one identity, each as an instance of its own.
    ...(contract.calls.length > 0 ? [replyPattern(node, service, service === 'cli' ? undefined : instance)] : []),
    ...discoverySubjects(service, instance),
  ];
  if (service === 'launcher') publish.push('$JS.API.>', ...discoverySubjects('*', '*'));
  if (service === 'cli') {
    publish.push(
      `$JS.API.STREAM.INFO.${recordStream(node)}`,
      `$JS.API.CONSUMER.CREATE.${recordStream(node)}.>`,
      ...discoverySubjects('*', '*'),
    );
    subscribe.push(nodeSubject(node, '>'));
  }
  return { publish: [...new Set(publish)], subscribe: [...new Set(subscribe)] };
}

/** The subjects of the NATS services protocol (ADR-32) for one instance. */
export function discoverySubjects(service: string, instance: string): string[] {
  return ['PING', 'INFO', 'STATS'].flatMap((verb) => [
    `$SRV.${verb}`,
    `$SRV.${verb}.${service}`,
    `$SRV.${verb}.${service}.${instance}`,
  ]);
}

function ownedSubjects(node: string, fact: AnyFact, instance: string): string[] {
  if (fact.owner !== 'each') return [storeSubject(node, factPattern(fact))];
  return [storeSubject(node, factKey(fact, instance)), storeSubject(node, completeKey(fact, instance))];
}
