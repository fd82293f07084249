import { entriesOf, isObject, type Json, type JsonObject } from '@kubus/kube-objects';
import { escapedAsGo } from '@kubus/pod';

/**
 * One step of a path into an object, as FieldsV1 writes it: `f:NAME` a field, `k:{...}` the item of a list that has these
 * keys, `v:VALUE` the item of a set, `i:NUMBER` the item at a place. The text is canonical, so equal steps are equal texts.
 * Source: KEP-555, k8s.io/apimachinery FieldsV1.
 */
export type PathElement = string;

export const fieldElement = (name: string): PathElement => `f:${name}`;

export const valueElement = (value: Json): PathElement => `v:${JSON.stringify(value)}`;

export const keyElement = (keys: JsonObject): PathElement => `k:${JSON.stringify(sortedByName(keys))}`;

const sortedByName = (keys: JsonObject): JsonObject =>
  Object.fromEntries(entriesOf(keys).toSorted(([one], [other]) => compareTexts(one, other)));

/**
 * The step that a key of FieldsV1 names.
 * @returns undefined for a kind of step that a later version may have.
 * @throws SyntaxError if it names no step.
 */
export function parsePathElement(text: string): PathElement | undefined {
  if (text[1] !== ':')
    throw new SyntaxError(text.length < 2 ? 'key must be 2 characters long:' : `missing colon: ${text}`);
  const content = text.slice(2);
  switch (text[0]) {
    case 'f':
      return text;
    case 'v':
      return valueElement(JSON.parse(content) as Json);
    case 'k': {
      const keys = JSON.parse(content) as Json;
      if (!isObject(keys)) throw new SyntaxError(`no keys: ${text}`);
      return keyElement(keys);
    }
    case 'i':
      if (!/^[-+]?\d+$/.test(content)) throw new SyntaxError(`no number: ${text}`);
      return `i:${String(Number(content))}`;
    default:
      return undefined;
  }
}

/** The step as FieldsV1 has it: JSON within is escaped as Go does. */
export const encodePathElement = (element: PathElement): string =>
  element.startsWith('f:') ? element : escapedAsGo(element);

/** The step as messages show it: `.spec`, `[name="a"]`, `[="a"]`. */
export function pathElementText(element: PathElement): string {
  const content = element.slice(2);
  switch (element[0]) {
    case 'f':
      return `.${content}`;
    case 'k':
      return `[${entriesOf(JSON.parse(content) as JsonObject)
        .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
        .join(',')}]`;
    case 'v':
      return `[=${content}]`;
    default:
      return `[${content}]`;
  }
}

/** The steps in the order of the reference: fields, keys, values, places. */
export function sortedElements(elements: Iterable<PathElement>): readonly PathElement[] {
  return [...elements]
    .map((element) => ({ element, rank: 'fkvi'.indexOf(element.charAt(0)), content: comparable(element) }))
    .toSorted((one, other) => one.rank - other.rank || compareLists(one.content, other.content))
    .map(({ element }) => element);
}

/** What two steps of a kind are compared by, from left to right. */
function comparable(element: PathElement): readonly Json[] {
  const content = element.slice(2);
  if (element.startsWith('f:')) return [content];
  const value = JSON.parse(content) as Json;
  return element.startsWith('k:') && isObject(value) ? entriesOf(value).flat() : [value];
}

function compareLists(one: readonly Json[], other: readonly Json[]): number {
  for (const [index, value] of one.entries()) {
    const counterpart = other[index];
    if (counterpart === undefined) return 1;
    const order = compareValues(value, counterpart);
    if (order !== 0) return order;
  }
  return one.length - other.length;
}

const ranks: Readonly<Record<string, number>> = { number: 0, string: 1, boolean: 2, object: 3 };

function compareValues(one: Json, other: Json): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (typeof one === 'boolean' && typeof other === 'boolean') return Number(one) - Number(other);
  if (typeof one === typeof other) return compareTexts(plainText(one), plainText(other));
  return (ranks[typeof one] ?? 0) - (ranks[typeof other] ?? 0);
}

const plainText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

export const compareTexts = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
