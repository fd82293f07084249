import { forbidden } from '../status.ts';
import type { Write } from './node-restriction.ts';

const KEPT = ['default', 'kube-system', 'kube-public'];

/** Refuses the deletion of the namespaces that every cluster has. Source: plugin/pkg/admission/namespace/lifecycle. @throws StatusError 403. */
export function keepNamespace({ operation, resource, name }: Pick<Write, 'operation' | 'resource' | 'name'>): void {
  if (operation !== 'delete' || resource.kind !== 'Namespace' || !KEPT.includes(name)) return;
  throw forbidden(resource, name, 'this namespace may not be deleted');
}
