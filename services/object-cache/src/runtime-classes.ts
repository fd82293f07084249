import type { FactOwner } from '@kubus/bus';
import type { RuntimeClass } from '@kubus/contracts';
import { type Reflector, kubePath } from '@kubus/kube';
import * as z from 'zod';
import { type ApiReader, follow } from './api-reader.ts';

const classSchema = z.object({ metadata: z.object({ name: z.string() }), handler: z.string() });

/** Tells the cluster's RuntimeClasses, all of them. */
export function followRuntimeClasses(reader: ApiReader, facts: FactOwner<RuntimeClass>): Reflector<RuntimeClass> {
  const known = new Set<string>();
  const put = (value: RuntimeClass) => {
    known.add(value.name);
    facts.put(value.name, value);
  };
  const remove = (name: string) => {
    known.delete(name);
    facts.remove(name);
  };
  const collection = {
    path: kubePath({ group: 'node.k8s.io', version: 'v1', resource: 'runtimeclasses' }),
    parse: (object: unknown): RuntimeClass => {
      const { metadata, handler } = classSchema.parse(object);
      return { name: metadata.name, handler };
    },
  };
  return follow(reader, collection, {
    replaced: (classes) => {
      const now = new Set(classes.map(({ name }) => name));
      for (const name of known) if (!now.has(name)) remove(name);
      for (const value of classes) put(value);
      facts.complete();
    },
    changed: put,
    removed: ({ name }) => remove(name),
  });
}
