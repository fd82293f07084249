import type { JsonSchema } from './json-schemas.ts';
import { type Refusal, type Resolvers, refusals } from './refusals.ts';

/** What is compared of a published contract. */
export interface ComparedContract {
  readonly channels: Readonly<Record<string, { readonly address: string }>>;
  readonly operations: Readonly<Record<string, object>>;
  readonly components: {
    readonly messages: Readonly<Record<string, object>>;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
}

/** What services of two versions that follow each other can not live with. */
export type ChangeKind =
  /** Nobody says it any more under its type. */
  | 'message removed'
  | 'subject changed'
  /** Who said it, or did what it asks for, does not any more. */
  | 'sender removed'
  | 'server removed'
  /** A reader of the version before gets nothing in its place. */
  | 'field removed'
  /** The later version refuses what the one before may say. */
  | 'refused by the later'
  /** The version before refuses what the later one may say. */
  | 'refused by the earlier';

/** One such change between two contracts. */
export interface Incompatibility {
  readonly kind: ChangeKind;
  /** The message or the shared schema, such as `worker.fact.status.v1` or `Pod`. */
  readonly of: string;
  /** Where in it, such as `spec.containers[].image`; empty for all of it. */
  readonly field: string;
  readonly why: string;
}

/**
 * What keeps services of the contract `later` from working together with services of the contract `earlier`, in either direction:
 * while a node is upgraded, and while it is taken back, each kind of message is sent and heard by both. Fields, messages, readers and
 * callers may be added (docs/contract.md, versions).
 */
export function incompatibilities(earlier: ComparedContract, later: ComparedContract): Incompatibility[] {
  return [...removals(earlier, later), ...differences(earlier, later)];
}

/** One line for people. */
export function describeIncompatibility({ kind, of, field, why }: Incompatibility): string {
  return `${kind}: ${of}${field === '' ? '' : ` ${field}`}: ${why}`;
}

function removals(earlier: ComparedContract, later: ComparedContract): Incompatibility[] {
  const channels = Object.entries(earlier.channels).flatMap(([of, { address }]): Incompatibility[] => {
    const now = later.channels[of]?.address;
    if (now === undefined) return [{ kind: 'message removed', of, field: '', why: `nothing is said on ${address}` }];
    return now === address ? [] : [{ kind: 'subject changed', of, field: '', why: `${address} has become ${now}` }];
  });
  const operations = Object.keys(earlier.operations).flatMap((name): Incompatibility[] => {
    const [, service = '', deed = '', of = ''] = /^([^.]+)\.([^.]+)\.(.+)$/.exec(name) ?? [];
    // A message that is gone is told of already; one that is not read or asked for any more disturbs nobody.
    if (later.operations[name] !== undefined || later.channels[of] === undefined) return [];
    if (deed === 'serves') return [{ kind: 'server removed', of, field: '', why: `${service} does not serve it` }];
    const says = deed === 'owns' || deed === 'publishes';
    return says ? [{ kind: 'sender removed', of, field: '', why: `${service} does not say it` }] : [];
  });
  return [...channels, ...operations];
}

/** Of every schema that both have, and of what a message has besides its schemas. */
function differences(earlier: ComparedContract, later: ComparedContract): Incompatibility[] {
  return [
    ...common(earlier.components.schemas, later.components.schemas),
    ...common(bodies(earlier), bodies(later)),
  ].flatMap(([of, before, now]) => compareSchemas(of, before, now, earlier, later));
}

function compareSchemas(
  of: string,
  before: JsonSchema,
  now: JsonSchema,
  earlier: ComparedContract,
  later: ComparedContract,
): Incompatibility[] {
  const upwards: Resolvers = { says: resolver(earlier), hears: resolver(later) };
  const downwards: Resolvers = { says: resolver(later), hears: resolver(earlier) };
  const told = (kind: ChangeKind, { field, why }: Refusal): Incompatibility => ({ kind, of, field, why });
  return [
    ...refusals(before, now, upwards).map((one) =>
      told(one.dropped === true ? 'field removed' : 'refused by the later', one),
    ),
    // What the later version has added is ignored by the one before.
    ...refusals(now, before, downwards)
      .filter(({ dropped }) => dropped !== true)
      .map((one) => told('refused by the earlier', one)),
  ];
}

/** Payloads and headers of the messages as one schema each. */
function bodies({ components: { messages } }: ComparedContract): Record<string, JsonSchema> {
  const schemas = Object.entries(messages).map(([name, message]) => {
    const { payload, headers } = message as { payload?: JsonSchema; headers?: JsonSchema };
    return [name, { type: 'object', properties: { ...(payload && { payload }), ...(headers && { headers }) } }];
  });
  return Object.fromEntries(schemas) as Record<string, JsonSchema>;
}

function common<T>(before: Readonly<Record<string, T>>, now: Readonly<Record<string, T>>): [string, T, T][] {
  return Object.entries(before).flatMap(([name, one]): [string, T, T][] => {
    const other = now[name];
    return other === undefined ? [] : [[name, one, other]];
  });
}

/** Finds what a JSON pointer of the document means. */
function resolver(document: ComparedContract): (ref: string) => JsonSchema {
  return (ref) => {
    const path = ref.replace(/^#\//, '').split('/');
    const found = path.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], document);
    if (found === undefined) throw new Error(`the contract has no ${ref}`);
    return found as JsonSchema;
  };
}
