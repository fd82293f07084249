import type { FactOwner } from '@kubus/bus';
import type { RuntimeClass } from '@kubus/contracts';
import { kubePath } from '@kubus/kube';
import * as z from 'zod';
import type { ApiReader } from './api-reader.ts';
import { ToldCollection } from './told-collection.ts';

const classSchema = z.object({ metadata: z.object({ name: z.string() }), handler: z.string() });

/** The cluster's RuntimeClasses: all of them. */
export function runtimeClassesOf(reader: ApiReader, facts: FactOwner<RuntimeClass>): ToldCollection<RuntimeClass> {
  return new ToldCollection(reader, {
    facts,
    path: kubePath({ group: 'node.k8s.io', version: 'v1', resource: 'runtimeclasses' }),
    parse: (object) => {
      const { metadata, handler } = classSchema.parse(object);
      return { name: metadata.name, handler };
    },
  });
}
