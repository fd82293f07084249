import { fields } from './contract-types.ts';

/** What a JSON Schema allows, in a few words: `string`, `string or null`, `"a" or "b"`, `list of integer`. */
export function schemaWords(schema: unknown, resolve: (schema: unknown) => unknown): string {
  const own = fields(resolve(schema));
  if ('const' in own) return JSON.stringify(own['const']);
  if (Array.isArray(own['enum'])) return own['enum'].map((value) => JSON.stringify(value)).join(' or ');
  const choices = [own['anyOf'], own['oneOf']].find((value) => Array.isArray(value)) as unknown[] | undefined;
  if (choices !== undefined) return choices.map((choice) => schemaWords(choice, resolve)).join(' or ');
  if (Array.isArray(own['allOf'])) {
    const parts = own['allOf'].map((part) => schemaWords(part, resolve));
    return [...new Set(parts)].join(' and ');
  }
  if (own['type'] === 'array') return `list of ${schemaWords(own['items'] ?? {}, resolve)}`;
  if (own['type'] === 'object' && own['additionalProperties'] instanceof Object && own['properties'] === undefined) {
    return `map of ${schemaWords(own['additionalProperties'], resolve)}`;
  }
  const { type } = own;
  if (Array.isArray(type)) return type.join(' or ');
  return typeof type === 'string' ? type : 'anything';
}

export interface SchemaField {
  readonly name: string;
  readonly required: boolean;
  readonly schema: unknown;
}

/** The fields of an object, of the items of a list, or of alternative objects. */
export function fieldsOf(schema: unknown, resolve: (schema: unknown) => unknown): SchemaField[] {
  const own = fields(resolve(schema));
  if (own['type'] === 'array') return fieldsOf(own['items'], resolve);
  const choices = [own['anyOf'], own['oneOf'], own['allOf']].flatMap((value): unknown[] =>
    Array.isArray(value) ? value : [],
  );
  const required: readonly unknown[] = Array.isArray(own['required']) ? own['required'] : [];
  const direct = Object.entries(fields(own['properties'])).map(([name, value]) => ({
    name,
    required: required.includes(name),
    schema: value,
  }));
  const inner = own['properties'] === undefined ? own['additionalProperties'] : undefined;
  const all = [
    ...direct,
    ...choices.flatMap((choice) => fieldsOf(choice, resolve)),
    ...(inner instanceof Object ? fieldsOf(inner, resolve) : []),
  ];
  return all.filter(({ name }, index) => all.findIndex((other) => other.name === name) === index);
}
