import { UserError } from '../user-error.ts';
import { parsePath } from './json-path.ts';
import { textOf, valuesAt } from './json-path-values.ts';

/**
 * Parses a field selector of the API (https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/): `FIELD=VALUE`,
 * `FIELD==VALUE` and `FIELD!=VALUE`, joined by commas. A field that does not exist has the value ``.
 *
 * @param fields those that can be selected by
 * @throws UserError for another form, or another field.
 */
export function fieldSelector(text: string, fields: readonly string[]): (object: unknown) => boolean {
  const requirements = text
    .split(',')
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const [, field = '', operator, value = ''] = /^\s*([^=!\s]+)\s*(==?|!=)\s*(.*?)\s*$/.exec(part) ?? [];
      if (operator === undefined)
        throw new UserError(`invalid field selector "${part}": use FIELD=VALUE or FIELD!=VALUE`);
      if (!fields.includes(field))
        throw new UserError(`field "${field}" cannot be selected by: use ${fields.join(', ')}`);
      const path = parsePath(field);
      const read = (object: unknown) => valuesAt(path, object).map(textOf).join(',');
      return operator === '!='
        ? (object: unknown) => !isSame(read(object), value)
        : (object: unknown) => isSame(read(object), value);
    });
  return (object) => requirements.every((isMet) => isMet(object));
}

/** A flag that is not set is false. */
function isSame(present: string, wanted: string): boolean {
  return present === wanted || (present === '' && wanted === 'false');
}
