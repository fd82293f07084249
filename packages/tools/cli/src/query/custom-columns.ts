import { UserError } from '../user-error.ts';
import { type Path, parsePath } from './json-path.ts';
import { textOf, valuesAt } from './json-path-values.ts';

/** A column of `-o custom-columns`. */
export interface CustomColumn {
  readonly title: string;
  readonly path: Path;
}

/** Parses `TITLE:PATH,TITLE:PATH`. Throws a {@link UserError} for a column without title or path. */
export function customColumns(text: string): CustomColumn[] {
  // At the commas outside of brackets, in which unions and filters have theirs.
  return text.split(/,(?![^[]*\])/).map((column) => {
    const [, title, path] = /^([^:]+):(.+)$/s.exec(column) ?? [];
    if (title === undefined || path === undefined) {
      throw new UserError(`custom column "${column}" must be TITLE:PATH, such as NAME:.metadata.name`);
    }
    return { title, path: parsePath(path) };
  });
}

/** The cells of an object; a value that does not exist is `<none>`. */
export function customRow(columns: readonly CustomColumn[], object: unknown): string[] {
  return columns.map(({ path }) => {
    const values = valuesAt(path, object);
    return values.length === 0 ? '<none>' : values.map((value) => textOf(value) || '<none>').join(',');
  });
}
