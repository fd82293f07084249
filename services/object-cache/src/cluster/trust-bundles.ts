import type { FactOwner } from '@kubus/bus';
import type { TrustBundle } from '@kubus/contracts';
import { kubePath } from '@kubus/kube';
import * as z from 'zod';
import type { ApiReader } from '../follow/api-reader.ts';
import { PublishedCollection } from '../follow/published-collection.ts';

const bundleSchema = z.object({
  metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()).optional() }),
  spec: z.object({ signerName: z.string().optional(), trustBundle: z.string() }),
});

/** All ClusterTrustBundles of the cluster, from when a pod has one in a volume (behaviour:objects-and-tokens). */
export function trustBundlesOf(reader: ApiReader, facts: FactOwner<TrustBundle>): PublishedCollection<TrustBundle> {
  const path = kubePath({ group: 'certificates.k8s.io', version: 'v1beta1', resource: 'clustertrustbundles' });
  return new PublishedCollection(reader, { facts, path, parse: readBundle });
}

function readBundle(object: unknown): TrustBundle {
  const { metadata, spec } = bundleSchema.parse(object);
  const { signerName = '', trustBundle } = spec;
  // Bundles without a signer have an empty name there, or none.
  return { name: metadata.name, ...(signerName !== '' && { signerName }), labels: metadata.labels ?? {}, trustBundle };
}
