/** One collection or object of the API. */
export interface KubeResource {
  /** Omitted: the core group. */
  readonly group?: string | undefined;
  readonly version: string;
  /** Omitted: a resource without namespaces, or all namespaces. */
  readonly namespace?: string | undefined;
  /** Plural, in lower case: `pods`. */
  readonly resource: string;
  /** Omitted: the collection. */
  readonly name?: string | undefined;
  /** Such as `status`. */
  readonly subresource?: string | undefined;
}

/** The path in the API: `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1`. */
export function kubePath({ group = '', version, namespace, resource, name, subresource }: KubeResource): string {
  const place = group === '' ? ['api', version] : ['apis', group, version];
  const parts = [
    ...place,
    ...(namespace === undefined ? [] : ['namespaces', namespace]),
    resource,
    ...(name === undefined ? [] : [name]),
    ...(subresource === undefined ? [] : [subresource]),
  ];
  return parts.map((part) => `/${encodeURIComponent(part)}`).join('');
}

/** The query of a request as text, with a leading `?`; empty when no parameter is set. */
export function queryText(query: Readonly<Record<string, string | number | boolean | undefined>> = {}): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) params.append(key, String(value));
  return params.size === 0 ? '' : `?${params.toString()}`;
}
