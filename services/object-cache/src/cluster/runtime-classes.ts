import type { FactOwner } from '@kubus/bus';
import type { RuntimeClass } from '@kubus/contracts';
import { kubePath } from '@kubus/kube';
import * as z from 'zod';
import type { ApiReader } from '../follow/api-reader.ts';
import { PublishedCollection } from '../follow/published-collection.ts';

const classSchema = z.object({ metadata: z.object({ name: z.string() }), handler: z.string() });

/** All RuntimeClasses of the cluster. */
export function runtimeClassesOf(reader: ApiReader, facts: FactOwner<RuntimeClass>): PublishedCollection<RuntimeClass> {
  return new PublishedCollection(reader, {
    facts,
    path: kubePath({ group: 'node.k8s.io', version: 'v1', resource: 'runtimeclasses' }),
    parse: (object) => {
      const { metadata, handler } = classSchema.parse(object);
      return { name: metadata.name, handler };
    },
  });
}
