import { type JsonObject, type Resource, apiVersionOf } from '@kubus/kube-objects';
import { fieldDescription, typeDescription } from './descriptions.ts';
import { isRequired } from './required-fields.ts';
import { type Field, jsonFieldsOf, typeOfObject } from './types.ts';

/** The places of definitions: of OpenAPI 2, and of 3. */
type Prefix = '#/definitions/' | '#/components/schemas/';

const TIME: JsonObject = { type: 'string', format: 'date-time' };

/** The schemas of plain values, by type. */
const PLAIN: Readonly<Record<string, JsonObject>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
  Time: TIME,
  MicroTime: TIME,
  Quantity: { type: 'string' },
  IntOrString: { type: 'string', format: 'int-or-string' },
  Strings: { type: 'array', items: { type: 'string' } },
  RawExtension: { type: 'object' },
  FieldsV1: { type: 'object' },
};

/** `io.k8s.api.core.v1.Pod` of `core/v1.Pod`. */
function definitionName(type: string): string {
  const [, group = '', version = '', kind = ''] = /^([^/]+)\/([^.]+)\.(.+)$/.exec(type) ?? [];
  if (group === 'meta') return `io.k8s.apimachinery.pkg.apis.meta.${version}.${kind}`;
  return `io.k8s.api.${group.replace(/\..*$/, '')}.${version}.${kind}`;
}

function schemaOf(field: Field, prefix: Prefix): JsonObject {
  const plain = PLAIN[field.type];
  const one = plain ?? { $ref: `${prefix}${definitionName(field.type)}` };
  switch (field.shape) {
    case 'list':
      return { type: 'array', items: one };
    case 'map':
      return { type: 'object', additionalProperties: one };
    case 'one':
      // Beside a reference nothing else is read, so it stands in a list of its own.
      return plain ?? (prefix === '#/definitions/' ? one : { allOf: [one], default: {} });
  }
}

function definition(type: string, prefix: Prefix): JsonObject {
  const fields = [...(jsonFieldsOf(type) ?? [])].sort((a, b) => (a.name < b.name ? -1 : 1));
  const required = fields.filter((field) => isRequired(type, field, PLAIN[field.type] !== undefined));
  return {
    description: typeDescription(type),
    type: 'object',
    properties: Object.fromEntries(
      fields.map((field) => [
        field.name,
        { ...schemaOf(field, prefix), description: fieldDescription(type, field.name) },
      ]),
    ),
    ...(required.length > 0 && { required: required.map(({ name }) => name) }),
  };
}

/** Of the kind, of its list, and of all types within it. */
function definitionsOf({ group, version, kind, ...rest }: Kind, prefix: Prefix): JsonObject {
  const apiVersion = apiVersionOf({ group, version });
  const root = typeOfObject({ apiVersion, kind });
  if (root === undefined) return {};
  const found = new Map<string, JsonObject>();
  const visit = (type: string): void => {
    if (found.has(type) || PLAIN[type] !== undefined) return;
    found.set(type, definition(type, prefix));
    for (const field of jsonFieldsOf(type) ?? []) visit(field.type);
  };
  visit(root);
  const typed = (name: string, schema: JsonObject): JsonObject => ({
    ...schema,
    properties: { ...TYPE_FIELDS, ...(schema['properties'] as JsonObject) },
    'x-kubernetes-group-version-kind': [{ group, version, kind: name }],
  });
  found.set(root, typed(kind, found.get(root) ?? {}));
  if ('plural' in rest) {
    visit('meta/v1.ListMeta');
    const items = { type: 'array', items: { $ref: `${prefix}${definitionName(root)}` } };
    const metadata = { ...schemaOf(LIST_METADATA, prefix), description: 'Of the list itself.' };
    const list = {
      description: `Objects of the kind ${kind}.`,
      type: 'object',
      properties: { items: { ...items, description: 'The objects.' }, metadata },
      required: ['items'],
    };
    found.set(`${root}List`, typed(`${kind}List`, list));
  }
  return Object.fromEntries([...found].map(([type, schema]) => [definitionName(type), schema]));
}

const TYPE_FIELDS: JsonObject = {
  apiVersion: { type: 'string', description: 'The group and version of the kind, such as v1.' },
  kind: { type: 'string', description: 'The kind of the object.' },
};

const LIST_METADATA: Field = {
  ...{ name: 'metadata', number: 1, written: 'unless empty', inline: false },
  ...{ shape: 'one', type: 'meta/v1.ListMeta' },
};

/** A kind that a document describes: one that is stored, or a review. */
export type Kind = Pick<Resource, 'group' | 'version' | 'kind'> & Partial<Pick<Resource, 'plural' | 'namespaced'>>;

/** `api/v1`, `apis/storage.k8s.io/v1`. */
const groupPath = (kind: Kind) => (kind.group === '' ? `api/${kind.version}` : `apis/${apiVersionOf(kind)}`);

/** @param body where the schema of an answer is: in its content, or beside it. */
function pathsOf(kinds: readonly Kind[], answer: (type: string) => JsonObject, text: JsonObject): JsonObject {
  return Object.fromEntries(
    kinds.flatMap((kind): [string, JsonObject][] => {
      const type = typeOfObject({ apiVersion: apiVersionOf(kind), kind: kind.kind });
      if (kind.plural === undefined || type === undefined) return [];
      const within = kind.namespaced === true ? '/namespaces/{namespace}' : '';
      const responses = { 200: { description: 'OK', ...answer(type) } };
      const of = { group: kind.group, version: kind.version, kind: kind.kind };
      const action = (name: string): JsonObject => ({
        'x-kubernetes-action': name,
        'x-kubernetes-group-version-kind': of,
        responses,
      });
      // Clients take from these parameters that the server validates fields (KEP-2885) and knows dry runs.
      const parameters = ['dryRun', 'fieldManager', 'fieldValidation', 'force'].map((name) => ({
        ...{ name, in: 'query', uniqueItems: true },
        ...(name === 'force' && text['schema'] === undefined ? { type: 'boolean' } : text),
      }));
      const path = `/${groupPath(kind)}${within}/${kind.plural}/{name}`;
      return [[path, { get: action('get'), patch: { ...action('patch'), parameters } }]];
    }),
  );
}

const INFO: JsonObject = { title: 'Kubernetes', version: 'v1.36.2' };

/** The OpenAPI document, version 3 (KEP-2896), of the kinds of one group and version. */
export function openApiDocument(kinds: readonly Kind[]): JsonObject {
  const prefix = '#/components/schemas/';
  const answer = (type: string) => ({
    content: { 'application/json': { schema: { $ref: `${prefix}${definitionName(type)}` } } },
  });
  return {
    openapi: '3.0.0',
    info: INFO,
    paths: pathsOf(kinds, answer, { schema: { type: 'string' } }),
    components: { schemas: Object.assign({}, ...kinds.map((kind) => definitionsOf(kind, prefix))) as JsonObject },
  };
}

/** The OpenAPI document, version 2, of all kinds. */
export function openApiV2(kinds: readonly Kind[]): JsonObject {
  const prefix = '#/definitions/';
  const answer = (type: string) => ({ schema: { $ref: `${prefix}${definitionName(type)}` } });
  return {
    swagger: '2.0',
    info: INFO,
    paths: pathsOf(kinds, answer, { type: 'string' }),
    definitions: Object.assign({}, ...kinds.map((kind) => definitionsOf(kind, prefix))) as JsonObject,
  };
}
