import { asObject, entriesOf, isObject, type Json } from '@kubus/kube-objects';
import { GrowingFieldSet } from './field-set.ts';
import type { FieldSet, Path } from './field-set.ts';
import { itemsByElement } from './list-items.ts';
import { fieldElement } from './path-element.ts';
import { partsOf, schemaOfField, schemaOfItems } from './schema.ts';
import type { Schema } from './schema.ts';

/** The fields that an object mentions: each value that has owners, each item of a list whose items have their own. */
export function fieldsOf(schema: Schema | undefined, object: Json): FieldSet {
  const set = new GrowingFieldSet();
  addFields(schema, object, [], set);
  return set.fields;
}

function addFields(schema: Schema | undefined, value: Json, path: Path, set: GrowingFieldSet): void {
  switch (partsOf(schema, value)) {
    case undefined:
      set.add(path);
      return;
    case 'items':
      for (const [element, [item = null, ...others]] of itemsByElement(schema, value as readonly Json[])) {
        const within = [...path, element];
        if (others.length === 0) addFields(schemaOfItems(schema), item, within, set);
        set.add(within);
      }
      return;
    case 'fields':
      for (const [name, field] of entriesOf(asObject(value))) {
        const within = [...path, fieldElement(name)];
        addFields(schemaOfField(schema, name), field, within, set);
        if (isObject(field) && entriesOf(field).length === 0) set.add(within);
      }
  }
}
