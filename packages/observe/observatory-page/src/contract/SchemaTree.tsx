import { type ReactNode, useState } from 'react';
import { fields } from './contract-types.ts';
import { type SchemaField, fieldsOf, schemaWords } from './schema-words.ts';

interface Props {
  readonly schema: unknown;
  readonly resolve: (schema: unknown) => unknown;
  readonly depth?: number;
}

/** The fields of a payload with their types; a field with fields of its own can be unfolded. */
export function SchemaTree({ schema, resolve, depth = 0 }: Props): ReactNode {
  const own = fieldsOf(schema, resolve);
  if (own.length === 0) return <p className="json-leaf">{schemaWords(schema, resolve)}</p>;
  return own.map((field) => <FieldRow key={field.name} field={field} resolve={resolve} depth={depth} />);
}

interface FieldProps {
  readonly field: SchemaField;
  readonly resolve: (schema: unknown) => unknown;
  readonly depth: number;
}

function FieldRow({ field, resolve, depth }: FieldProps): ReactNode {
  const { name, required, schema } = field;
  // Schemas may be recursive, so folded fields are not rendered.
  const [open, setOpen] = useState(false);
  const about = fields(resolve(schema))['description'];
  const said = (
    <>
      <span className="json-key">{name}</span>
      {required ? '' : <span className="dim"> optional</span>}
      <span className="schema-type">{schemaWords(schema, resolve)}</span>
      {typeof about === 'string' ? <span className="schema-about">{about}</span> : null}
    </>
  );
  if (fieldsOf(schema, resolve).length === 0) return <div className="json-leaf">{said}</div>;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{said}</summary>
      {open ? <SchemaTree schema={schema} resolve={resolve} depth={depth + 1} /> : null}
    </details>
  );
}
