import type * as z from 'zod';
import { COMPLETE, ROOT, decodeToken, encodeToken } from './subject.ts';

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
  'kube-api',
  'observatory',
  'launcher',
  'cli',
] as const;
export type ServiceName = (typeof serviceNames)[number];

/** The service of an instance's name: `prober` of `prober-0`; any other name is returned unchanged. */
export function serviceOfInstance(name: string): string {
  return name.replace(/-\d+$/, '');
}

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

/** The subject of a fact or an event; that of a command continues with its {@link Caller}. */
export function subjectOf(node: string, declaration: AnyDeclaration, key: string): string {
  return `${ROOT}.${encodeToken(node)}.${declaration.area}.${declaration.kind}.${subjectName(declaration)}.${encodeToken(key)}`;
}

/** Covers every message of a declaration. */
export function patternOf(node: string, declaration: AnyDeclaration): string {
  return `${ROOT}.${encodeToken(node)}.${declaration.area}.${declaration.kind}.${subjectName(declaration)}.>`;
}

/** The sender of a command. */
export interface Caller {
  readonly service: ServiceName;
  readonly instance: string;
}

/** One instance, or all instances of a service. */
type Callers = Pick<Caller, 'service'> & Partial<Caller>;

/** The subject of a command of `caller`. */
export function commandSubject(node: string, command: AnyCommand, key: string, caller: Caller): string {
  return `${subjectOf(node, command, key)}.${caller.service}.${encodeToken(caller.instance)}`;
}

/** Covers every message of a command that some callers send. */
export function commandPattern(node: string, command: AnyCommand, { service, instance }: Callers): string {
  const name = `${command.area}.${command.kind}.${subjectName(command)}`;
  return `${ROOT}.${encodeToken(node)}.${name}.*.${service}.${tokenOrAny(instance)}`;
}

/** Who has sent a command, according to its subject; undefined where it names no service and instance. */
export function callerOf(subject: string): Caller | undefined {
  const [name, instance, more] = subject.split('.').slice(6);
  const service = serviceNames.find((one) => one === name);
  if (service === undefined || instance === undefined || more !== undefined) return undefined;
  return { service, instance: decodeToken(instance) };
}

/** The subject of the replies of `server` to commands of `caller`; only that instance may read them, and only that service may send them. */
export function replySubject(node: string, caller: Caller, key: string, server: ServiceName): string {
  const reader = `${caller.service}.${encodeToken(caller.instance)}`;
  return `${ROOT}.${encodeToken(node)}.reply.${reader}.${encodeToken(key)}.${server}`;
}

/** Covers every reply to some callers; of one server, or of all. */
export function replyPattern(node: string, { service, instance }: Callers, server?: ServiceName): string {
  return `${ROOT}.${encodeToken(node)}.reply.${service}.${tokenOrAny(instance)}.*.${server ?? '*'}`;
}

function tokenOrAny(text: string | undefined): string {
  return text === undefined ? '*' : encodeToken(text);
}
