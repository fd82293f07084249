import { arrivedSchema, completionSchema, failureSchema } from '@kubus/bus';
import {
  type AnyDeclaration,
  nodeEventSchema,
  podEventSchema,
  podRefSchema,
  podSchema,
  podStatusSchema,
  podUpdateSchema,
  runtimePodSchema,
  stampSchema,
} from '@kubus/contracts';
import * as z from 'zod';
import { declarations } from './declarations.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Schemas that several messages share, under their names in the published contract. */
const shared: Readonly<Record<string, z.ZodType>> = {
  Arrived: arrivedSchema,
  Completion: completionSchema,
  Failure: failureSchema,
  NodeEvent: nodeEventSchema,
  Pod: podSchema,
  PodEvent: podEventSchema,
  PodRef: podRefSchema,
  PodStatus: podStatusSchema,
  PodUpdate: podUpdateSchema,
  RuntimePod: runtimePodSchema,
  Stamp: stampSchema,
};

/** The part of a declaration that a payload belongs to. */
export type Part = 'payload' | 'request' | 'result';

/** The parts of a declaration that are sent on the bus, with their schemas. */
export function partsOf(declaration: AnyDeclaration): readonly (readonly [Part, z.ZodType])[] {
  return declaration.kind === 'cmd'
    ? [
        ['request', declaration.request],
        ['result', declaration.result],
      ]
    : [['payload', declaration.payload]];
}

/** The name of a payload's schema in the published contract. */
export function schemaName(schema: z.ZodType): string {
  const name = registry.get(schema)?.id;
  if (name === undefined) throw new Error('the schema belongs to no declared message');
  return name;
}

/** `config.fact.file.v1`: a message type as a name that is valid in JSON pointers and file names. */
export function typeName(declaration: Pick<AnyDeclaration, 'area' | 'kind' | 'name' | 'version'>): string {
  return `${declaration.area}.${declaration.kind}.${declaration.name}.v${declaration.version}`;
}

/**
 * JSON Schemas (draft 7) of everything that is sent on the bus as JSON, by name. They refer to each other by
 * `refTo(name)`. Fields that a schema does not name are allowed, as readers ignore them.
 */
export function jsonSchemas(refTo: (name: string) => string): Readonly<Record<string, JsonSchema>> {
  const { schemas } = z.toJSONSchema(registry, { target: 'draft-7', io: 'input', uri: refTo });
  // Each has the dialect and an ID of its own; both are for standalone schemas.
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _dialect, $id: _id, ...schema }]) => [name, schema]),
  );
}

const registry = z.registry<{ id: string }>();
for (const [id, schema] of Object.entries(shared)) registry.add(schema, { id });
for (const declaration of declarations) {
  for (const [part, schema] of partsOf(declaration)) {
    const id = part === 'payload' ? typeName(declaration) : `${typeName(declaration)}.${part}`;
    if (!registry.has(schema)) registry.add(schema, { id });
  }
}
