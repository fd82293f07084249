import { UserError } from '../user-error.ts';

export type Labels = Readonly<Record<string, string>>;

interface Requirement {
  readonly key: string;
  readonly matches: (value: string | undefined) => boolean;
}

/** A label's key: an optional prefix and a name (labels, "Syntax and character set"). */
const KEY = '(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?';
const VALUE = '(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?';

const forms: readonly (readonly [RegExp, (...groups: string[]) => Requirement['matches']])[] = [
  [new RegExp(`^(${KEY})$`), () => (value) => value !== undefined],
  [new RegExp(`^!\\s*(${KEY})$`), () => (value) => value === undefined],
  [new RegExp(`^(${KEY})\\s*==?\\s*(${VALUE})$`), (wanted) => (value) => value === wanted],
  // As in the API: what does not have the label is unequal, too.
  [new RegExp(`^(${KEY})\\s*!=\\s*(${VALUE})$`), (wanted) => (value) => value !== wanted],
  [new RegExp(`^(${KEY})\\s*>\\s*(-?\\d+)$`), (limit) => (value) => isWhole(value) && Number(value) > Number(limit)],
  [new RegExp(`^(${KEY})\\s*<\\s*(-?\\d+)$`), (limit) => (value) => isWhole(value) && Number(value) < Number(limit)],
  [
    new RegExp(`^(${KEY})\\s+in\\s*\\(([^()]*)\\)$`),
    (list) => (value) => value !== undefined && values(list).includes(value),
  ],
  [
    new RegExp(`^(${KEY})\\s+notin\\s*\\(([^()]*)\\)$`),
    (list) => (value) => value === undefined || !values(list).includes(value),
  ],
];

/**
 * Parses a label selector of the API (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors): `a=b`,
 * `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, `a>1`, `a<1`, joined by commas.
 *
 * @throws UserError that names the part that is none of them.
 */
export function labelSelector(text: string): (labels: Labels | undefined) => boolean {
  const requirements = partsOf(text).map(requirement);
  return (labels = {}) =>
    requirements.every(({ key, matches }) => matches(Object.hasOwn(labels, key) ? labels[key] : undefined));
}

/** At the commas that are not in parentheses. */
function partsOf(text: string): string[] {
  return text.trim() === '' ? [] : text.split(/,(?![^(]*\))/).map((part) => part.trim());
}

function requirement(text: string): Requirement {
  for (const [form, matchesOf] of forms) {
    const [whole, key = '', ...groups] = form.exec(text) ?? [];
    if (whole !== undefined) return { key, matches: matchesOf(...groups) };
  }
  throw new UserError(
    `invalid label selector "${text}": use KEY=VALUE, KEY!=VALUE, KEY in (A,B), KEY notin (A,B), KEY or !KEY`,
  );
}

function values(list: string): string[] {
  return list.split(',').map((value) => value.trim());
}

function isWhole(value: string | undefined): boolean {
  return value !== undefined && /^-?\d+$/.test(value);
}
