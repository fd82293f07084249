import { createHash } from 'node:crypto';
import { type JsonObject, apiVersionOf, resources, reviews } from '@kubus/kube-objects';
import { openApiDocument, openApiV2 } from '@kubus/kube-schema';

const ROOT = '/openapi/v3';

type Kind = Parameters<typeof openApiDocument>[0][number];

const kinds: readonly Kind[] = [...resources, ...reviews].map((kind) => ({ ...kind }));

/** By path of the document; of documents that never change. */
const hashes = new Map<string, string>();

/**
 * The answer to a request for the OpenAPI documents, version 2, or 3 with one for each group and version (KEP-2896); undefined: no such
 * path. They are made for the request, and not kept.
 */
export function openApi(path: string): JsonObject | undefined {
  if (path === '/openapi/v2') return openApiV2(kinds);
  if (path === ROOT)
    return { paths: Object.fromEntries(groupPaths().map((one) => [one, { serverRelativeURL: documentUrl(one) }])) };
  const group = path.slice(ROOT.length + 1);
  return path.startsWith(`${ROOT}/`) && groupPaths().includes(group) ? documentOf(group) : undefined;
}

const documentOf = (group: string) => openApiDocument(kinds.filter((kind) => groupPath(kind) === group));

/** With a hash of the content, by which clients keep what they have read. */
function documentUrl(group: string): string {
  const known =
    hashes.get(group) ??
    createHash('sha512')
      .update(JSON.stringify(documentOf(group)))
      .digest('hex');
  hashes.set(group, known);
  return `${ROOT}/${group}?hash=${known.toUpperCase()}`;
}

function groupPaths(): string[] {
  return [...new Set(kinds.map(groupPath))];
}

const groupPath = (kind: Kind) => (kind.group === '' ? `api/${kind.version}` : `apis/${apiVersionOf(kind)}`);
