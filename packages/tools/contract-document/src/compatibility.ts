import type { JsonSchema } from './json-schemas.ts';
import { type Refusal, type Resolvers, refusals } from './refusals.ts';

/** The parts of a published contract that are compared. */
export interface ComparedContract {
  readonly channels: Readonly<Record<string, { readonly address: string }>>;
  readonly operations: Readonly<Record<string, object>>;
  readonly components: {
    readonly messages: Readonly<Record<string, object>>;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
}

/** Kinds of changes that prevent services of two consecutive versions from working together. */
type ChangeKind =
  /** The later contract has no message of this type. */
  | 'message removed'
  | 'subject changed'
  /** The service that published the message, or served the command, no longer does. */
  | 'sender removed'
  | 'server removed'
  /** Readers of the earlier version would miss the field. */
  | 'field removed'
  /** The later version refuses what the earlier one may publish. */
  | 'refused by the later'
  /** The earlier version refuses what the later one may publish. */
  | 'refused by the earlier';

/** One such change between two contracts. */
export interface Incompatibility {
  readonly kind: ChangeKind;
  /** The message or the shared schema, such as `worker.fact.status.v1` or `Pod`. */
  readonly of: string;
  /** The location in it, such as `spec.containers[].image`; empty for all of it. */
  readonly field: string;
  readonly why: string;
}

/**
 * What prevents services of the contract `later` from working together with services of the contract `earlier`, in either direction: during an
 * upgrade or a rollback both versions publish and read each kind of message. Fields, messages, readers and callers may be added
 * (docs/contract.md, versions).
 */
export function incompatibilities(earlier: ComparedContract, later: ComparedContract): Incompatibility[] {
  return [...removals(earlier, later), ...differences(earlier, later)];
}

/** The incompatibility as one line of text. */
export function describeIncompatibility({ kind, of, field, why }: Incompatibility): string {
  return `${kind}: ${of}${field === '' ? '' : ` ${field}`}: ${why}`;
}

function removals(earlier: ComparedContract, later: ComparedContract): Incompatibility[] {
  const channels = Object.entries(earlier.channels).flatMap(([of, { address }]): Incompatibility[] => {
    const now = later.channels[of]?.address;
    if (now === undefined)
      return [{ kind: 'message removed', of, field: '', why: `nothing is published on ${address}` }];
    return now === address ? [] : [{ kind: 'subject changed', of, field: '', why: `${address} has become ${now}` }];
  });
  const operations = Object.keys(earlier.operations).flatMap((name): Incompatibility[] => {
    const [, service = '', use = '', of = ''] = /^([^.]+)\.([^.]+)\.(.+)$/.exec(name) ?? [];
    // A removed message is already reported; one that is no longer read or requested affects no service.
    if (later.operations[name] !== undefined || later.channels[of] === undefined) return [];
    if (use === 'serves') return [{ kind: 'server removed', of, field: '', why: `${service} does not serve it` }];
    const publishes = use === 'owns' || use === 'publishes';
    return publishes ? [{ kind: 'sender removed', of, field: '', why: `${service} does not publish it` }] : [];
  });
  return [...channels, ...operations];
}

/** The comparison of every schema that both have, and of what a message has besides its schemas. */
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
  const upwards: Resolvers = { writer: resolver(earlier), reader: resolver(later) };
  const downwards: Resolvers = { writer: resolver(later), reader: resolver(earlier) };
  const changeOf = (kind: ChangeKind, { field, why }: Refusal): Incompatibility => ({ kind, of, field, why });
  return [
    ...refusals(before, now, upwards).map((one) =>
      changeOf(one.dropped === true ? 'field removed' : 'refused by the later', one),
    ),
    // What the later version has added is ignored by the one before.
    ...refusals(now, before, downwards)
      .filter(({ dropped }) => dropped !== true)
      .map((one) => changeOf('refused by the earlier', one)),
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

/** Resolves a JSON pointer of the document. */
function resolver(document: ComparedContract): (ref: string) => JsonSchema {
  return (ref) => {
    const path = ref.replace(/^#\//, '').split('/');
    const found = path.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], document);
    if (found === undefined) throw new Error(`the contract has no ${ref}`);
    return found as JsonSchema;
  };
}
