import { PodMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor';
import { toError } from '@kubus/ports';
import { DaemonSet } from 'kubernetes-models/apps/v1/DaemonSet';
import { Job } from 'kubernetes-models/batch/v1/Job';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { ClusterRole } from 'kubernetes-models/rbac.authorization.k8s.io/v1/ClusterRole';
import { ClusterRoleBinding } from 'kubernetes-models/rbac.authorization.k8s.io/v1/ClusterRoleBinding';
import { Role } from 'kubernetes-models/rbac.authorization.k8s.io/v1/Role';
import { RoleBinding } from 'kubernetes-models/rbac.authorization.k8s.io/v1/RoleBinding';
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { Pod } from 'kubernetes-models/v1/Pod';
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount';
import * as z from 'zod';

/** The kinds that a chart may have. Each checks values against the OpenAPI schema of Kubernetes, or of the operator. */
const kinds = [
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  DaemonSet,
  Job,
  NetworkPolicy,
  Pod,
  PodMonitor,
  Role,
  RoleBinding,
  ServiceAccount,
];

const manifestSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});
/** A Kubernetes manifest. */
export type Manifest = z.infer<typeof manifestSchema>;

/** A document as a manifest; throws a ZodError that names missing fields. */
export function manifestOf(document: unknown): Manifest {
  return manifestSchema.parse(document);
}

/**
 * The errors of a manifest by the schema of its kind: wrong types, missing fields, and unknown fields. The schemas themselves accept unknown
 * fields; these are found as the fields that validation never reads.
 */
export function wrongFields(manifest: Manifest): string[] {
  const kind = kinds.find((one) => one.apiVersion === manifest.apiVersion && one.kind === manifest.kind);
  if (kind === undefined) return [`${manifest.apiVersion} ${manifest.kind}: there is no schema for this kind`];
  const unread = new Set<string>();
  const wrong: string[] = [];
  try {
    kind.prototype.validate.call(watched(manifest, '', unread));
  } catch (error) {
    wrong.push(toError(error).message);
  }
  return [...wrong, ...[...unread].map((path) => `${path}: unknown field`)];
}

/** A proxy of the value that removes each field from `unread` when it is read. */
function watched(value: unknown, path: string, unread: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const seen = new Map<string | symbol, unknown>();
  if (!Array.isArray(value)) for (const key of Object.keys(value)) unread.add(`${path}/${key}`);
  return new Proxy(value, {
    get: (target, key) => {
      const inner = `${path}/${key.toString()}`;
      unread.delete(inner);
      if (!seen.has(key)) seen.set(key, watched(Reflect.get(target, key), inner, unread));
      return seen.get(key);
    },
  });
}
