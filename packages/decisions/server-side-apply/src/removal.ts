import { asObject, entriesOf, type Json } from '@kubus/kube-objects';
import type { FieldSet } from './field-set.ts';
import { itemElement } from './list-items.ts';
import { fieldElement } from './path-element.ts';
import type { PathElement } from './path-element.ts';
import { partsOf, schemaOfField, schemaOfItems } from './schema.ts';
import type { Schema } from './schema.ts';

/** The value without these fields and items; what then contains nothing stays, empty. */
export function removed(schema: Schema | undefined, value: Json, fields: FieldSet): Json {
  const rest = (element: PathElement, inner: Schema | undefined, part: Json): readonly Json[] => {
    const node = fields.get(element);
    if (node?.owned === true) return [];
    return [node === undefined ? part : removed(inner, part, node.below)];
  };
  switch (partsOf(schema, value)) {
    case undefined:
      return value;
    case 'items':
      return (value as readonly Json[]).flatMap((item) => rest(itemElement(schema, item), schemaOfItems(schema), item));
    case 'fields':
      return Object.fromEntries(
        entriesOf(asObject(value)).flatMap(([name, field]) =>
          rest(fieldElement(name), schemaOfField(schema, name), field).map((left) => [name, left]),
        ),
      );
  }
}
