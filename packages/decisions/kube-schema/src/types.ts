import core from './fields/core.ts';
import goTypes from './fields/go-types.ts';
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

/** A field as JSON has it. */
export interface JsonField extends Field {
  /** Its type in Go, as errors of the decoder there show it: `[]v1.Container`. */
  readonly goType: string;
  /** The names of the inlined types that the field is of, from the outermost. */
  readonly within: readonly string[];
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
/** The Go types that have names of their own, by full name of the type that has the field. */
let goLines: ReadonlyMap<string, string> | undefined;
const parsed = new Map<string, readonly Field[]>();
const byName = new Map<string, ReadonlyMap<string, JsonField>>();

function tableLines(tables: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const table of tables) {
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
  lines ??= tableLines([core, groups, meta, resource, storage]);
  const line = lines.get(type);
  if (line === undefined) return undefined;
  const fields = line.split(' ').flatMap((text) => fieldOf(text, groupOf(type)));
  fields.sort((a, b) => a.number - b.number);
  parsed.set(type, fields);
  return fields;
}

const partsOf = (text: string): [string, string] => {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
};

const groupOf = (type: string) => type.slice(0, type.lastIndexOf('.'));
const shortName = (type: string) => type.slice(type.lastIndexOf('.') + 1);

function fieldOf(text: string, group: string): Field[] {
  const [, name = '', number, mark = '', shape, of = ''] =
    /^(\w*|\$ref)=(\d+):([?*>]?)(\[\]|%)?([\w./]+)$/.exec(text) ?? [];
  if (number === undefined) return [];
  return [
    {
      name,
      number: Number(number),
      written: mark === '*' ? 'if set' : mark === '?' ? 'unless empty' : 'always',
      inline: mark === '>',
      shape: shape === '[]' ? 'list' : shape === '%' ? 'map' : 'one',
      type: (lines?.has(`${group}.${of}`) ?? false) ? `${group}.${of}` : of,
    },
  ];
}

const PLAIN_GO_TYPES: Readonly<Record<string, string>> = {
  ...{ string: 'string', bool: 'bool', int32: 'int32', int64: 'int64', double: 'float64', bytes: '[]uint8' },
  ...{ Quantity: 'resource.Quantity', IntOrString: 'intstr.IntOrString', Time: 'v1.Time', MicroTime: 'v1.MicroTime' },
  ...{ RawExtension: 'runtime.RawExtension', FieldsV1: 'v1.FieldsV1', Strings: 'v1.ExtraValue' },
};

/** `v1.Pod` of `core/v1.Pod`. */
export const goTypeOf = (type: string): string => PLAIN_GO_TYPES[type] ?? type.slice(type.indexOf('/') + 1);

/** As {@link fieldsOf}, by name, with the fields of inlined types in their place. */
export function jsonFieldsOf(type: string): readonly JsonField[] | undefined {
  goLines ??= tableLines([goTypes]);
  const named = new Map((goLines.get(type) ?? '').split(' ').map((text) => partsOf(text)));
  return fieldsOf(type)?.flatMap((field) =>
    field.inline ? inlined(field) : [{ ...field, within: [], goType: named.get(field.name) ?? goTypeOfField(field) }],
  );
}

const goTypeOfField = ({ shape, type }: Field) =>
  `${shape === 'map' ? 'map[string]' : shape === 'list' ? '[]' : ''}${goTypeOf(type)}`;

function inlined({ type }: Field): readonly JsonField[] {
  const own = shortName(type);
  return (jsonFieldsOf(type) ?? []).map((field) => ({ ...field, within: [own, ...field.within] }));
}

/** The fields of {@link jsonFieldsOf} by their names. */
export function fieldsByName(type: string): ReadonlyMap<string, JsonField> | undefined {
  const known = byName.get(type);
  if (known !== undefined) return known;
  const fields = jsonFieldsOf(type);
  if (fields === undefined) return undefined;
  const found = new Map(fields.map((field) => [field.name, field]));
  byName.set(type, found);
  return found;
}

/** The full name of an object's type; undefined: not among those known here. */
export function typeOfObject({ apiVersion, kind }: ObjectType): string | undefined {
  const inMeta = kind === 'Status' || kind === 'DeleteOptions';
  const type = inMeta ? `meta/v1.${kind}` : `${apiVersion === 'v1' ? 'core/v1' : apiVersion}.${kind}`;
  return fieldsOf(type) === undefined ? undefined : type;
}
