import { isDeepEqual } from '@kubus/pod';
import type { JsonSchema } from './json-schemas.ts';

/** A value that the writer's schema allows and that the reader's schema refuses or drops. */
export interface Refusal {
  /** The location in the value, such as `spec.containers[].image`; empty for the value itself. */
  readonly field: string;
  /** True: it is accepted, but the field is ignored. */
  readonly dropped?: true;
  readonly why: string;
}

/** Resolves a reference: on the writer's side, and on the reader's side. */
export interface Resolvers {
  readonly writer: (ref: string) => JsonSchema;
  readonly reader: (ref: string) => JsonSchema;
}

/** Bounds where the reader's must not be above the writer's, and where they must not be below. */
const lower = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'] as const;
const upper = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'] as const;
/** Restrictions that can only be compared for equality. */
const exact = ['pattern', 'format', 'multipleOf', 'uniqueItems', 'not', 'if', 'contains'] as const;

/**
 * What a reader with the schema `reader` refuses or drops of what a writer with the schema `writer` may write; both are JSON
 * Schemas
 * (draft 7) of the published contract. In undecidable cases a value counts as refused. Two references of one name are not
 * followed: their
 * targets are compared under that name.
 */
export function refusals(writer: JsonSchema, reader: JsonSchema, resolvers: Resolvers): Refusal[] {
  return new Comparison(resolvers).compare(writer, reader, '');
}

class Comparison {
  readonly #resolvers: Resolvers;
  /** Pairs of references that are being compared: a schema may contain itself. */
  readonly #open = new Set<string>();

  constructor(resolvers: Resolvers) {
    this.#resolvers = resolvers;
  }

  compare(writer: JsonSchema, reader: JsonSchema, field: string): Refusal[] {
    const [written, accepted] = [text(writer['$ref']), text(reader['$ref'])];
    if (written === undefined && accepted === undefined) return this.#compare(writer, reader, field);
    if (written === accepted) return [];
    const pair = `${written ?? ''} ${accepted ?? ''} ${written === undefined || accepted === undefined ? field : ''}`;
    if (this.#open.has(pair)) return [];
    this.#open.add(pair);
    const found = this.compare(
      written === undefined ? writer : this.#resolvers.writer(written),
      accepted === undefined ? reader : this.#resolvers.reader(accepted),
      field,
    );
    this.#open.delete(pair);
    return found;
  }

  #compare(writer: JsonSchema, reader: JsonSchema, field: string): Refusal[] {
    const [anyWritten, anyAccepted] = [alternatives(writer), alternatives(reader)];
    if (anyWritten !== undefined) return anyWritten.flatMap((one) => this.compare(one, reader, field));
    if (anyAccepted !== undefined) {
      const [best = []] = anyAccepted
        .map((one) => this.compare(writer, one, field))
        .sort((one, other) => one.length - other.length);
      return best;
    }
    const parts = [...schemas(writer['allOf'])];
    if (parts.length > 0) return this.compare(merged(writer, parts), reader, field);
    const wanted = schemas(reader['allOf']);
    if (wanted.length > 0) return this.compare(writer, merged(reader, wanted), field);
    const type = this.#types(writer, reader, field);
    if (type.length > 0) return type;
    return [
      ...values(writer, reader, field),
      ...limits(writer, reader, field),
      ...this.#properties(writer, reader, field),
      ...this.#items(writer, reader, field),
    ];
  }

  #types(writer: JsonSchema, reader: JsonSchema, field: string): Refusal[] {
    const accepted = types(reader);
    if (accepted === undefined) return [];
    const written = types(writer);
    if (written === undefined) return [{ field, why: `may be anything, and has to be ${accepted.join(' or ')}` }];
    const refused = written.filter(
      (type) => !accepted.includes(type) && !(type === 'integer' && accepted.includes('number')),
    );
    return refused.map((type) => ({ field, why: `may be ${type}, and has to be ${accepted.join(' or ')}` }));
  }

  #properties(writer: JsonSchema, reader: JsonSchema, field: string): Refusal[] {
    const [written, accepted] = [properties(writer), properties(reader)];
    const others = writer['additionalProperties'];
    const takes = reader['additionalProperties'];
    const found: Refusal[] = [];
    const [always, needed] = [strings(writer['required']), strings(reader['required'])];
    for (const name of needed) {
      if (!always.includes(name)) found.push({ field: below(field, name), why: 'may be missing, and is required' });
    }
    for (const [name, schema] of Object.entries(written)) {
      const at = below(field, name);
      const known = accepted[name];
      if (known !== undefined) found.push(...this.compare(schema, known, at));
      else if (takes === false) found.push({ field: at, why: 'is unknown, and unknown fields are refused' });
      else if (isSchema(takes)) found.push(...this.compare(schema, takes, at));
      else if (types(reader)?.includes('object') === true) found.push({ field: at, dropped: true, why: 'is unknown' });
    }
    if (isSchema(others)) {
      if (takes === false) found.push({ field, why: 'may have any field, and unknown fields are refused' });
      else if (isSchema(takes)) found.push(...this.compare(others, takes, `${field}{}`));
      for (const [name, schema] of Object.entries(accepted)) {
        if (written[name] === undefined) found.push(...this.compare(others, schema, below(field, name)));
      }
    }
    const [names, wanted] = [writer['propertyNames'], reader['propertyNames']];
    if (isSchema(wanted)) found.push(...this.compare(isSchema(names) ? names : {}, wanted, `${field}{name}`));
    return found;
  }

  #items(writer: JsonSchema, reader: JsonSchema, field: string): Refusal[] {
    const [written, accepted] = [writer['items'], reader['items']];
    if (isSchema(accepted)) {
      const all = isSchema(written) ? [written] : Array.isArray(written) ? schemas(written) : [{}];
      return all.flatMap((one) => this.compare(one, accepted, `${field}[]`));
    }
    if (!Array.isArray(accepted)) return [];
    const wanted = schemas(accepted);
    const given = Array.isArray(written) ? schemas(written) : wanted.map(() => (isSchema(written) ? written : {}));
    const [more, takesMore] = [writer['additionalItems'], reader['additionalItems']];
    return [
      ...wanted.flatMap((one, index) => this.compare(given[index] ?? {}, one, `${field}[${index}]`)),
      ...(isSchema(takesMore) ? this.compare(isSchema(more) ? more : {}, takesMore, `${field}[]`) : []),
      ...(given.length > wanted.length ? [{ field, why: `may have ${given.length} items` }] : []),
    ];
  }
}

function values(writer: JsonSchema, reader: JsonSchema, field: string): Refusal[] {
  const accepted = listed(reader);
  if (accepted === undefined) return [];
  const written = listed(writer);
  const taken = accepted.map((value) => JSON.stringify(value)).join(', ');
  if (written === undefined) return [{ field, why: `may be any value, and has to be one of ${taken}` }];
  const refused = written.filter((value) => !accepted.some((one) => isDeepEqual(one, value)));
  return refused.map((value) => ({ field, why: `may be ${JSON.stringify(value)}, and has to be one of ${taken}` }));
}

function limits(writer: JsonSchema, reader: JsonSchema, field: string): Refusal[] {
  // Listed values are assumed to satisfy the schema that lists them.
  if (listed(writer) !== undefined) return [];
  const number = (schema: JsonSchema, key: string) => {
    const value = schema[key];
    return typeof value === 'number' ? value : undefined;
  };
  const tighter = (key: string, isWithin: (written: number, accepted: number) => boolean): Refusal[] => {
    const [written, accepted] = [number(writer, key), number(reader, key)];
    if (accepted === undefined || (written !== undefined && isWithin(written, accepted))) return [];
    return [{ field, why: `${key} ${accepted} is required, and ${written === undefined ? 'none' : written} is given` }];
  };
  return [
    ...lower.flatMap((key) => tighter(key, (written, accepted) => written >= accepted)),
    ...upper.flatMap((key) => tighter(key, (written, accepted) => written <= accepted)),
    ...exact
      .filter((key) => reader[key] !== undefined && !isDeepEqual(writer[key], reader[key]))
      .map((key) => ({ field, why: `${key} ${JSON.stringify(reader[key])} is required` })),
  ];
}

function alternatives(schema: JsonSchema): readonly JsonSchema[] | undefined {
  const any = schema['anyOf'] ?? schema['oneOf'];
  return Array.isArray(any) ? schemas(any) : undefined;
}

/** The combined requirements of several schemas. */
function merged({ allOf: _parts, ...schema }: JsonSchema, parts: readonly JsonSchema[]): JsonSchema {
  const all = [schema, ...parts];
  return {
    ...(Object.assign({}, ...all) as JsonSchema),
    ...(all.some((one) => one['properties'] !== undefined) && {
      properties: Object.assign({}, ...all.map(properties)) as object,
      required: [...new Set(all.flatMap((one) => strings(one['required'])))],
    }),
  };
}

function types(schema: JsonSchema): readonly string[] | undefined {
  const { type } = schema;
  if (typeof type === 'string') return [type];
  return Array.isArray(type) ? strings(type) : undefined;
}

/** The only values that are allowed. */
function listed(schema: JsonSchema): readonly unknown[] | undefined {
  if ('const' in schema) return [schema['const']];
  const values = schema['enum'];
  return Array.isArray(values) ? (values as unknown[]) : undefined;
}

function properties(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const all = schema['properties'];
  return isSchema(all) ? (all as Record<string, JsonSchema>) : {};
}

function schemas(value: unknown): readonly JsonSchema[] {
  return Array.isArray(value) ? value.filter(isSchema) : [];
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function below(field: string, name: string): string {
  return field === '' ? name : `${field}.${name}`;
}
