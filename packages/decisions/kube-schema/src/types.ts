import core from './fields/core.ts';
import groups from './fields/groups.ts';
import meta from './fields/meta.ts';
import resource from './fields/resource.ts';
import storage from './fields/storage.ts';

/** A field of a type of the Kubernetes API. */
export interface Field {
  /** In JSON; empty for an inlined type, whose fields are those of the type around it. */
  readonly name: string;
  /** In protobuf. */
  readonly number: number;
  /** When JSON has it: `always`, unless it is `empty`, or only where it is `set`. */
  readonly written: 'always' | 'unless empty' | 'if set';
  readonly inline: boolean;
  readonly shape: 'one' | 'list' | 'map';
  /** The type's full name (`core/v1.Pod`), or that of a plain value (`string`, `Time`, `Quantity`, ...). */
  readonly type: string;
}

/** The version and kind of an object, as a body names them. */
export interface ObjectType {
  readonly apiVersion: string;
  readonly kind: string;
}

/**
 * The lines of the tables, by full name of the type. A table's `[group/version]` precedes its types; a line is a type's name and its
 * fields, each `NAME=NUMBER:TYPE`. Before the type: `?` unless empty, `*` if set, `>` inlined; then `[]` list, `%` map of texts to.
 */
let lines: ReadonlyMap<string, string> | undefined;
const parsed = new Map<string, readonly Field[]>();

function tableLines(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const table of [core, groups, meta, resource, storage]) {
    let group = '';
    for (const line of table.split('\n').filter((one) => one !== '')) {
      const space = line.indexOf(' ');
      if (line.startsWith('[')) group = line.slice(1, -1);
      else if (space === -1) found.set(`${group}.${line}`, '');
      else found.set(`${group}.${line.slice(0, space)}`, line.slice(space + 1));
    }
  }
  return found;
}

/** The fields of a type in the order of their numbers; undefined: a plain value, or unknown. */
export function fieldsOf(type: string): readonly Field[] | undefined {
  const known = parsed.get(type);
  if (known !== undefined) return known;
  lines ??= tableLines();
  const line = lines.get(type);
  if (line === undefined) return undefined;
  const group = type.slice(0, type.lastIndexOf('.'));
  const fields = line.split(' ').flatMap((text) => fieldOf(text, group));
  fields.sort((a, b) => a.number - b.number);
  parsed.set(type, fields);
  return fields;
}

function fieldOf(text: string, group: string): Field[] {
  const [, name = '', number, mark = '', shape, type = ''] =
    /^(\w*|\$ref)=(\d+):([?*>]?)(\[\]|%)?([\w./]+)$/.exec(text) ?? [];
  if (number === undefined) return [];
  return [
    {
      name,
      number: Number(number),
      written: mark === '*' ? 'if set' : mark === '?' ? 'unless empty' : 'always',
      inline: mark === '>',
      shape: shape === '[]' ? 'list' : shape === '%' ? 'map' : 'one',
      type: (lines?.has(`${group}.${type}`) ?? false) ? `${group}.${type}` : type,
    },
  ];
}

/** As {@link fieldsOf}, by name, with the fields of inlined types in their place. */
export function jsonFieldsOf(type: string): readonly Field[] | undefined {
  return fieldsOf(type)?.flatMap((field) => (field.inline ? (jsonFieldsOf(field.type) ?? []) : [field]));
}

/** The full name of an object's type; undefined: not among those known here. */
export function typeOfObject({ apiVersion, kind }: ObjectType): string | undefined {
  const inMeta = kind === 'Status' || kind === 'DeleteOptions';
  const type = inMeta ? `meta/v1.${kind}` : `${apiVersion === 'v1' ? 'core/v1' : apiVersion}.${kind}`;
  return fieldsOf(type) === undefined ? undefined : type;
}
