import type { Json, JsonObject } from '../json.ts';
import type { KubeObject } from '../object.ts';
import { type Resource, apiVersionOf, storedFrom } from '../resources.ts';
import { type Column, columnsOf, commonColumns } from './columns.ts';
import { usageColumns } from './usage-columns.ts';

/** What a row carries of its object: nothing, its metadata, or all of it. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

/**
 * Objects as a Table of meta/v1, with the reference's columns and cells.
 *
 * @param metadata of the list; of a single object, its resourceVersion.
 * @param now milliseconds since the Unix epoch.
 */
export function tableFor(
  resource: Pick<Resource, 'group' | 'version' | 'kind' | 'view'>,
  objects: readonly KubeObject[],
  { metadata, include, now }: { metadata: JsonObject; include: IncludeObject; now: number },
): JsonObject {
  const columns = columnsOf[resource.kind] ?? usageColumns[resource.kind] ?? commonColumns;
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: columns.map(definitionOf),
    rows: objects.map((object) => ({
      cells: cellsOf(columns, storedFrom(resource, object), now),
      object: carried(resource, object, include),
    })),
  };
}

function cellsOf(columns: readonly Column[], object: KubeObject, now: number): Json[] {
  return columns.map(({ cell }) => cell(object, now));
}

function definitionOf({ name, type, format, isWide = false }: Column): JsonObject {
  const priority = isWide ? 1 : 0;
  return { name, type: type ?? 'string', format: format ?? '', description: '', priority };
}

/** Items of lists have no type of their own; rows have. */
function carried(
  resource: Pick<Resource, 'group' | 'version' | 'kind'>,
  object: KubeObject,
  include: IncludeObject,
): Json {
  if (include === 'None') return null;
  if (include === 'Object') return { ...object, kind: resource.kind, apiVersion: apiVersionOf(resource) };
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}
