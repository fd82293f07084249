import { badRequest, type Resource, resourceOfKind } from '@kubus/kube-objects';

/** The object, or part of it, that a request concerns. */
export interface Target {
  readonly resource: Resource;
  /** Empty for kinds that are not namespaced. */
  readonly namespace: string;
  /** Empty where the body names it. */
  readonly name: string;
  /** Empty: the object itself. */
  readonly subresource: string;
}

/** Which object: its kind, namespace (where it has one; left out: `default`) and name. */
export interface ObjectName {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** @throws StatusError 400 for a kind that is not served. */
export function targetOf({ kind, namespace = '', name }: ObjectName): Target {
  const resource = resourceOfKind(kind);
  if (resource === undefined) throw badRequest(`no matches for kind "${kind}"`);
  const within = namespace === '' ? 'default' : namespace;
  return { resource, namespace: resource.namespaced ? within : '', name, subresource: '' };
}
