import type { FactOwner } from '@kubus/bus';
import type { TrustBundle } from '@kubus/contracts';
import { kubePath } from '@kubus/kube';
import * as z from 'zod';
import type { ApiReader } from './api-reader.ts';
import { ToldCollection } from './told-collection.ts';

const bundleSchema = z.object({
  metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()).optional() }),
  spec: z.object({ signerName: z.string().optional(), trustBundle: z.string() }),
});

/** The cluster's ClusterTrustBundles: all of them, from when some pod has them in a volume (kubelet behaviour 1.14). */
export function trustBundlesOf(reader: ApiReader, facts: FactOwner<TrustBundle>): ToldCollection<TrustBundle> {
  const path = kubePath({ group: 'certificates.k8s.io', version: 'v1beta1', resource: 'clustertrustbundles' });
  return new ToldCollection(reader, { facts, path, parse: readBundle });
}

function readBundle(object: unknown): TrustBundle {
  const { metadata, spec } = bundleSchema.parse(object);
  const { signerName = '', trustBundle } = spec;
  // Those of no signer have an empty name there, or none.
  return { name: metadata.name, ...(signerName !== '' && { signerName }), labels: metadata.labels ?? {}, trustBundle };
}
