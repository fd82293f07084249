import { type JsonObject, type Resource, apiVersionOf, resources } from '@kubus/kube-objects';

const ROOT = '/openapi/v3';

/**
 * The answer to a request for the OpenAPI documents, version 3 (KEP-2896); undefined: no such path. They list the paths of the kinds, so that
 * clients leave the validation of fields to the server (KEP-2885); they describe no fields.
 */
export function openApi(path: string): JsonObject | undefined {
  if (path === ROOT)
    return { paths: Object.fromEntries(groupPaths().map((one) => [one, { serverRelativeURL: `${ROOT}/${one}` }])) };
  const group = path.slice(ROOT.length + 1);
  if (!path.startsWith(`${ROOT}/`) || !groupPaths().includes(group)) return undefined;
  const own = resources.filter((resource) => groupPath(resource) === group);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.36.2' },
    paths: Object.fromEntries(own.map((resource) => [objectPath(resource), { patch: patchOf(resource) }])),
    components: { schemas: {} },
  };
}

function groupPaths(): string[] {
  return [...new Set(resources.map(groupPath))];
}

const groupPath = (resource: Resource) =>
  resource.group === '' ? `api/${resource.version}` : `apis/${apiVersionOf(resource)}`;

function objectPath(resource: Resource): string {
  const within = resource.namespaced ? '/namespaces/{namespace}' : '';
  return `/${groupPath(resource)}${within}/${resource.plural}/{name}`;
}

function patchOf({ group, version, kind }: Resource): JsonObject {
  const text = { type: 'string', uniqueItems: true };
  return {
    parameters: ['dryRun', 'fieldManager', 'fieldValidation', 'force'].map((name) => ({
      ...{ name, in: 'query' },
      schema: name === 'force' ? { type: 'boolean', uniqueItems: true } : text,
    })),
    responses: { 200: { description: 'OK' } },
    'x-kubernetes-action': 'patch',
    'x-kubernetes-group-version-kind': { group, version, kind },
  };
}
