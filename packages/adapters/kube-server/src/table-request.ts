import {
  type IncludeObject,
  type JsonObject,
  type KubeObject,
  type Resource,
  asList,
  isObject,
  tableFor,
} from '@kubus/kube-objects';
import type { RequestInfo } from './request-info.ts';

/** How a client wants what it reads: undefined, as objects; else as a Table (API concepts, "Receiving resources as Tables"). */
export type TableRequest = { readonly include: IncludeObject } | undefined;

/** @param accept the header: the first media type that is served counts. */
export function tableRequest(accept: string, { verb, query }: RequestInfo): TableRequest {
  if (!['get', 'list', 'watch'].includes(verb)) return undefined;
  const [first = ''] = accept.split(',');
  const parameters = first.split(';').map((part) => part.trim());
  const isTable = parameters.includes('as=Table') && parameters.includes('v=v1');
  if (!isTable || !parameters.includes('g=meta.k8s.io')) return undefined;
  const include = query.get('includeObject');
  return { include: include === 'None' || include === 'Object' ? include : 'Metadata' };
}

/** An object or a list as a Table, if that was asked for. */
export function asTable(
  resource: Pick<Resource, 'group' | 'version' | 'kind' | 'view'>,
  body: JsonObject,
  wanted: TableRequest,
  now: number,
): JsonObject {
  if (wanted === undefined || body['kind'] === 'Status') return body;
  const isList = body['kind'] === `${resource.kind}List`;
  const objects = (isList ? asList(body['items']) : [body]) as readonly KubeObject[];
  const given = isObject(body['metadata']) ? body['metadata'] : {};
  const metadata = isList ? given : { resourceVersion: given['resourceVersion'] };
  return tableFor(resource, objects, { metadata, include: wanted.include, now });
}
