import type { JsonSchema } from './json-schemas.ts';

/** Something that one schema allows to be said and the other one does not take as it is meant. */
export interface Refusal {
  /** Where in the value, such as `spec.containers[].image`; empty for the value itself. */
  readonly field: string;
  /** True: it is taken, but nothing is made of the field any more. */
  readonly dropped?: true;
  readonly why: string;
}

/** Finds what a reference means: on the side of whoever says something, and of whoever hears it. */
export interface Resolvers {
  readonly says: (ref: string) => JsonSchema;
  readonly hears: (ref: string) => JsonSchema;
}

/** Bounds where the hearer's must not be above the sayer's, and where they must not be below. */
const lower = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'] as const;
const upper = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'] as const;
/** Restrictions of which nothing but being the same can be told. */
const exact = ['pattern', 'format', 'multipleOf', 'uniqueItems', 'not', 'if', 'contains'] as const;

/**
 * What whoever keeps to `hears` refuses or drops of what whoever keeps to `says` may say, both JSON Schemas (draft 7) as the
 * published contract has them. Where it can not tell it takes a value for refused. What two references of one name mean is not
 * looked at: it is compared under that name.
 */
export function refusals(says: JsonSchema, hears: JsonSchema, resolvers: Resolvers): Refusal[] {
  return new Comparison(resolvers).compare(says, hears, '');
}

class Comparison {
  readonly #resolvers: Resolvers;
  /** Pairs of references that are being looked at: a schema may have itself inside. */
  readonly #open = new Set<string>();

  constructor(resolvers: Resolvers) {
    this.#resolvers = resolvers;
  }

  compare(says: JsonSchema, hears: JsonSchema, field: string): Refusal[] {
    const [said, heard] = [text(says['$ref']), text(hears['$ref'])];
    if (said === undefined && heard === undefined) return this.#compare(says, hears, field);
    if (said === heard) return [];
    const pair = `${said ?? ''} ${heard ?? ''} ${said === undefined || heard === undefined ? field : ''}`;
    if (this.#open.has(pair)) return [];
    this.#open.add(pair);
    const found = this.compare(
      said === undefined ? says : this.#resolvers.says(said),
      heard === undefined ? hears : this.#resolvers.hears(heard),
      field,
    );
    this.#open.delete(pair);
    return found;
  }

  #compare(says: JsonSchema, hears: JsonSchema, field: string): Refusal[] {
    const [anySaid, anyHeard] = [alternatives(says), alternatives(hears)];
    if (anySaid !== undefined) return anySaid.flatMap((one) => this.compare(one, hears, field));
    if (anyHeard !== undefined) {
      const [best = []] = anyHeard
        .map((one) => this.compare(says, one, field))
        .sort((one, other) => one.length - other.length);
      return best;
    }
    const parts = [...schemas(says['allOf'])];
    if (parts.length > 0) return this.compare(merged(says, parts), hears, field);
    const wanted = schemas(hears['allOf']);
    if (wanted.length > 0) return this.compare(says, merged(hears, wanted), field);
    const type = this.#types(says, hears, field);
    if (type.length > 0) return type;
    return [
      ...values(says, hears, field),
      ...limits(says, hears, field),
      ...this.#properties(says, hears, field),
      ...this.#items(says, hears, field),
    ];
  }

  #types(says: JsonSchema, hears: JsonSchema, field: string): Refusal[] {
    const heard = types(hears);
    if (heard === undefined) return [];
    const said = types(says);
    if (said === undefined) return [{ field, why: `may be anything, and has to be ${heard.join(' or ')}` }];
    const refused = said.filter((type) => !heard.includes(type) && !(type === 'integer' && heard.includes('number')));
    return refused.map((type) => ({ field, why: `may be ${type}, and has to be ${heard.join(' or ')}` }));
  }

  #properties(says: JsonSchema, hears: JsonSchema, field: string): Refusal[] {
    const [said, heard] = [properties(says), properties(hears)];
    const others = says['additionalProperties'];
    const takes = hears['additionalProperties'];
    const found: Refusal[] = [];
    const [always, needed] = [strings(says['required']), strings(hears['required'])];
    for (const name of needed) {
      if (!always.includes(name)) found.push({ field: below(field, name), why: 'may be missing, and has to be there' });
    }
    for (const [name, schema] of Object.entries(said)) {
      const at = below(field, name);
      const known = heard[name];
      if (known !== undefined) found.push(...this.compare(schema, known, at));
      else if (takes === false) found.push({ field: at, why: 'is not known, and unknown fields are refused' });
      else if (isSchema(takes)) found.push(...this.compare(schema, takes, at));
      else if (types(hears)?.includes('object') === true) found.push({ field: at, dropped: true, why: 'is not known' });
    }
    if (isSchema(others)) {
      if (takes === false) found.push({ field, why: 'may have any field, and unknown fields are refused' });
      else if (isSchema(takes)) found.push(...this.compare(others, takes, `${field}{}`));
      for (const [name, schema] of Object.entries(heard)) {
        if (said[name] === undefined) found.push(...this.compare(others, schema, below(field, name)));
      }
    }
    const [names, wanted] = [says['propertyNames'], hears['propertyNames']];
    if (isSchema(wanted)) found.push(...this.compare(isSchema(names) ? names : {}, wanted, `${field}{name}`));
    return found;
  }

  #items(says: JsonSchema, hears: JsonSchema, field: string): Refusal[] {
    const [said, heard] = [says['items'], hears['items']];
    if (isSchema(heard)) {
      const all = isSchema(said) ? [said] : Array.isArray(said) ? schemas(said) : [{}];
      return all.flatMap((one) => this.compare(one, heard, `${field}[]`));
    }
    if (!Array.isArray(heard)) return [];
    const wanted = schemas(heard);
    const given = Array.isArray(said) ? schemas(said) : wanted.map(() => (isSchema(said) ? said : {}));
    const [more, takesMore] = [says['additionalItems'], hears['additionalItems']];
    return [
      ...wanted.flatMap((one, index) => this.compare(given[index] ?? {}, one, `${field}[${index}]`)),
      ...(isSchema(takesMore) ? this.compare(isSchema(more) ? more : {}, takesMore, `${field}[]`) : []),
      ...(given.length > wanted.length ? [{ field, why: `may have ${given.length} items` }] : []),
    ];
  }
}

function values(says: JsonSchema, hears: JsonSchema, field: string): Refusal[] {
  const heard = listed(hears);
  if (heard === undefined) return [];
  const said = listed(says);
  const taken = heard.map((value) => JSON.stringify(value)).join(', ');
  if (said === undefined) return [{ field, why: `may be any value, and has to be one of ${taken}` }];
  const refused = said.filter((value) => !heard.some((one) => same(one, value)));
  return refused.map((value) => ({ field, why: `may be ${JSON.stringify(value)}, and has to be one of ${taken}` }));
}

function limits(says: JsonSchema, hears: JsonSchema, field: string): Refusal[] {
  // Listed values keep to what they are listed with.
  if (listed(says) !== undefined) return [];
  const number = (schema: JsonSchema, key: string) => {
    const value = schema[key];
    return typeof value === 'number' ? value : undefined;
  };
  const tighter = (key: string, isWithin: (said: number, heard: number) => boolean): Refusal[] => {
    const [said, heard] = [number(says, key), number(hears, key)];
    if (heard === undefined || (said !== undefined && isWithin(said, heard))) return [];
    return [{ field, why: `${key} ${heard} is asked for, and ${said === undefined ? 'none' : said} is kept` }];
  };
  return [
    ...lower.flatMap((key) => tighter(key, (said, heard) => said >= heard)),
    ...upper.flatMap((key) => tighter(key, (said, heard) => said <= heard)),
    ...exact
      .filter((key) => hears[key] !== undefined && !same(says[key], hears[key]))
      .map((key) => ({ field, why: `${key} ${JSON.stringify(hears[key])} is asked for` })),
  ];
}

function alternatives(schema: JsonSchema): readonly JsonSchema[] | undefined {
  const any = schema['anyOf'] ?? schema['oneOf'];
  return Array.isArray(any) ? schemas(any) : undefined;
}

/** What several schemas ask for together. */
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

/** Both are plain JSON, made by the same code: their keys come in one order. */
function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function below(field: string, name: string): string {
  return field === '' ? name : `${field}.${name}`;
}
