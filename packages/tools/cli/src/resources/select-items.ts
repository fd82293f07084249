import { fieldSelector } from '../query/field-selector.ts';
import { parsePath } from '../query/json-path.ts';
import { textOf, valuesAt } from '../query/json-path-values.ts';
import { labelSelector } from '../query/label-selector.ts';
import { UserError } from '../user-error.ts';
import type { Item, ResourceType } from './resource-type.ts';

/** What is asked for of a type. */
export interface Selection {
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  /** Empty: all. */
  readonly names: readonly string[];
  readonly selector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly sortBy?: string | undefined;
}

/**
 * A function that selects and sorts the items that are asked for.
 *
 * @throws UserError for a selector or a path that is invalid; the function throws it for a name that no item has.
 */
export function itemSelector(type: ResourceType, selection: Selection): (items: readonly Item[]) => readonly Item[] {
  const { namespace, names, selector, sortBy } = selection;
  if (names.length > 0 && (selector !== undefined || selection.fieldSelector !== undefined)) {
    throw new UserError('name objects, or select them with --selector and --field-selector, but not both');
  }
  const hasLabels = labelSelector(selector ?? '');
  const hasFields = fieldSelector(selection.fieldSelector ?? '', type.fields);
  const isWanted = ({ object }: Item) =>
    (!type.isNamespaced || namespace === undefined || object.metadata.namespace === namespace) &&
    hasLabels(object.metadata.labels) &&
    hasFields(object);
  const inOrder = sorter(sortBy);
  return (items) => {
    const wanted = items.filter(isWanted);
    if (names.length === 0) return inOrder(wanted);
    return names.map((name) => {
      const found = wanted.find((item) => isNamed(item, name));
      if (found === undefined) throw notFound(type, name, namespace);
      return found;
    });
  };
}

function isNamed({ object, isNamed }: Item, name: string): boolean {
  return isNamed === undefined ? object.metadata.name === name : isNamed(name);
}

/** In kubectl's words, with the namespace. */
export function notFound(
  { name: type, isNamespaced }: Pick<ResourceType, 'name' | 'isNamespaced'>,
  name: string,
  namespace: string | undefined,
): UserError {
  const where = isNamespaced && namespace !== undefined ? ` in namespace "${namespace}"` : '';
  return new UserError(`${type} "${name}" not found${where}`);
}

/** Numbers by size, anything else by its text; what has no such field comes first, as in kubectl. */
function sorter(sortBy: string | undefined): (items: readonly Item[]) => readonly Item[] {
  if (sortBy === undefined) return (items) => items;
  const path = parsePath(sortBy);
  const value = ({ object }: Item) => valuesAt(path, object)[0];
  return (items) => items.toSorted((a, b) => order(value(a), value(b)));
}

function order(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [left, right] = [textOf(a), textOf(b)] as const;
  return left < right ? -1 : left === right ? 0 : 1;
}
