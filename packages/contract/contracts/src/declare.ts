import type * as z from 'zod';
import { COMPLETE, ROOT, encodeToken } from './subject.ts';

/** Every process that has an identity on the bus. */
export const serviceNames = [
  'config-sources',
  'sync-loop',
  'pod-workers',
  'cri-bridge',
  'cni-bridge',
  'object-cache',
  'volume-manager',
  'prober',
  'status-manager',
  'node-agent',
  'node-api',
  'observatory',
  'launcher',
  'cli',
] as const;
export type ServiceName = (typeof serviceNames)[number];

/** The first token after the node: the area to which the message belongs. */
export type Area =
  | 'config'
  | 'sync'
  | 'worker'
  | 'runtime'
  | 'network'
  | 'object'
  | 'probe'
  | 'volume'
  | 'device'
  | 'status'
  | 'node'
  | 'fault'
  | 'service';

/** The meaning of a message's key (the sixth token of its subject). */
export type KeyKind = 'pod' | 'instance' | 'name';

interface Declaration {
  readonly area: Area;
  readonly name: string;
  readonly key: KeyKind;
  /** Increases when a payload changes in a way that an older reader would misread; each version has its own subject. */
  readonly version: number;
  /** One sentence for people: what it contains and when it is sent. It is part of the published contract. */
  readonly about: string;
}

/** The last value per key; a late reader gets the current state at once. Only `owner` writes it. */
export interface FactDeclaration<T> extends Declaration {
  readonly kind: 'fact';
  /** `each`: every service writes its own key. */
  readonly owner: ServiceName | 'each';
  readonly payload: z.ZodType<T>;
  /** Only instances of the version before read it: those of this one may, but need not. */
  readonly isSuperseded?: boolean;
}

/** A request to do something: acknowledged when it takes long, its result kept until it is read (docs/architecture.md, commands). */
export interface CommandDeclaration<Request, Result> extends Declaration {
  readonly kind: 'cmd';
  readonly server: ServiceName;
  /** True: only the holder of the pod's fencing token may send it. */
  readonly fenced: boolean;
  readonly request: z.ZodType<Request>;
  readonly result: z.ZodType<Result>;
}

/** Something that happened; published after the state behind it is stored. Never the only source of a state. */
export interface EventDeclaration<T> extends Declaration {
  readonly kind: 'event';
  readonly publisher: ServiceName | 'each';
  readonly payload: z.ZodType<T>;
}

export type AnyFact = FactDeclaration<unknown>;
export type AnyCommand = CommandDeclaration<unknown, unknown>;
export type AnyEvent = EventDeclaration<unknown>;
export type AnyDeclaration = AnyFact | AnyCommand | AnyEvent;

type Options<D> = Omit<D, 'kind' | 'version'> & { version?: number };

export function fact<T>(options: Options<FactDeclaration<T>>): FactDeclaration<T> {
  return { version: 1, ...options, kind: 'fact' };
}

export function command<Request, Result>(
  options: Options<CommandDeclaration<Request, Result>>,
): CommandDeclaration<Request, Result> {
  return { version: 1, ...options, kind: 'cmd' };
}

export function event<T>(options: Options<EventDeclaration<T>>): EventDeclaration<T> {
  return { version: 1, ...options, kind: 'event' };
}

/** `config.fact.file/1`: the value of a message's type header. */
export function typeOf(declaration: Pick<AnyDeclaration, 'area' | 'kind' | 'name' | 'version'>): string {
  return `${declaration.area}.${declaration.kind}.${declaration.name}/${declaration.version}`;
}

/** A type without its version, as used by people and by programs that follow all versions. */
export function bareType(type: string): string {
  return type.replace(/\/\d+$/, '');
}

/** The name in subjects: from the second version on it contains the version, so that two versions can be published side by side. */
export function subjectName({ name, version }: Pick<AnyDeclaration, 'name' | 'version'>): string {
  return version === 1 ? name : `${name}-${version}`;
}

/** The key of a fact in the key-value bucket: its subject without `kubus.<node>.`. */
export function factKey(declaration: Pick<AnyFact, 'area' | 'name' | 'version'>, key: string): string {
  return `${declaration.area}.fact.${subjectName(declaration)}.${encodeToken(key)}`;
}

/** The bucket key under which `instance` marks its part of a fact set as complete. */
export function completeKey(declaration: Pick<AnyFact, 'area' | 'name' | 'version'>, instance: string): string {
  return `${declaration.area}.fact.${subjectName(declaration)}.${COMPLETE}.${encodeToken(instance)}`;
}

/** Covers every key of a fact, including its completion marks; relative to `kubus.<node>.`. */
export function factPattern(declaration: Pick<AnyFact, 'area' | 'name' | 'version'>): string {
  return `${declaration.area}.fact.${subjectName(declaration)}.>`;
}

/** The subject of one message. */
export function subjectOf(node: string, declaration: AnyDeclaration, key: string): string {
  return `${ROOT}.${encodeToken(node)}.${declaration.area}.${declaration.kind}.${subjectName(declaration)}.${encodeToken(key)}`;
}

/** Covers every message of a declaration. */
export function patternOf(node: string, declaration: AnyDeclaration): string {
  return `${ROOT}.${encodeToken(node)}.${declaration.area}.${declaration.kind}.${subjectName(declaration)}.>`;
}

/** The subject of the replies to one instance's commands; only that instance may read them. */
export function replySubject(node: string, service: ServiceName, instance: string, key: string): string {
  return `${ROOT}.${encodeToken(node)}.reply.${service}.${encodeToken(instance)}.${encodeToken(key)}`;
}

/** Covers every reply to one instance, or to every instance of a service. */
export function replyPattern(node: string, service: ServiceName, instance?: string): string {
  return `${ROOT}.${encodeToken(node)}.reply.${service}.${instance === undefined ? '*' : encodeToken(instance)}.*`;
}
