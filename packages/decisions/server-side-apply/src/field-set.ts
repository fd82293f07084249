import { pathElementText, sortedElements } from './path-element.ts';
import type { PathElement } from './path-element.ts';

/** The steps to a field, from the object's root. */
export type Path = readonly PathElement[];

/** A set of fields of an object, as a tree: whether the field itself is in the set, and what is below it. */
export type FieldSet = ReadonlyMap<PathElement, FieldNode>;

interface FieldNode {
  readonly owned: boolean;
  readonly below: FieldSet;
}

const none: FieldSet = new Map();

/** A set that grows while an object is walked. */
export class GrowingFieldSet {
  readonly fields: FieldSet;
  readonly #root: GrowingNode['below'] = new Map();

  constructor() {
    this.fields = this.#root;
  }

  /** Adds the field at the path; the object itself, at the empty path, is never a member. */
  add(path: Path): void {
    let node: GrowingNode | undefined;
    let level = this.#root;
    for (const element of path) {
      node = level.get(element);
      if (node === undefined) {
        node = { owned: false, below: new Map() };
        level.set(element, node);
      }
      level = node.below;
    }
    if (node !== undefined) node.owned = true;
  }
}

interface GrowingNode {
  owned: boolean;
  readonly below: Map<PathElement, GrowingNode>;
}

export function fieldSet(...paths: readonly Path[]): FieldSet {
  const set = new GrowingFieldSet();
  for (const path of paths) set.add(path);
  return set.fields;
}

/** The set of the nodes that `combine` makes of both sets' nodes; nodes without any member are left out. */
function combined(one: FieldSet, other: FieldSet, combine: (one: FieldNode, other: FieldNode) => FieldNode): FieldSet {
  const absent: FieldNode = { owned: false, below: none };
  const result = new Map<PathElement, FieldNode>();
  for (const element of new Set([...one.keys(), ...other.keys()])) {
    const node = combine(one.get(element) ?? absent, other.get(element) ?? absent);
    if (node.owned || node.below.size > 0) result.set(element, node);
  }
  return result;
}

export function union(one: FieldSet, other: FieldSet): FieldSet {
  return combined(one, other, (left, right) => ({
    owned: left.owned || right.owned,
    below: union(left.below, right.below),
  }));
}

export function intersection(one: FieldSet, other: FieldSet): FieldSet {
  return combined(one, other, (left, right) => ({
    owned: left.owned && right.owned,
    below: intersection(left.below, right.below),
  }));
}

/** The fields of `one` that are not in `other`; what is below a field of `other` stays. */
export function difference(one: FieldSet, other: FieldSet): FieldSet {
  return combined(one, other, (left, right) => ({
    owned: left.owned && !right.owned,
    below: difference(left.below, right.below),
  }));
}

/** The fields of `one` that are neither in `other` nor below a field of it. */
export function differenceWithBelow(one: FieldSet, other: FieldSet): FieldSet {
  return combined(one, other, (left, right) =>
    right.owned
      ? { owned: false, below: none }
      : { owned: left.owned, below: differenceWithBelow(left.below, right.below) },
  );
}

/** The set with each named field that has members below it: what such a field contains is known, so it is there itself. */
export function withNamedFields(set: FieldSet): FieldSet {
  return new Map(
    [...set].map(([element, { owned, below }]) => [
      element,
      { owned: owned || (element.startsWith('f:') && below.size > 0), below: withNamedFields(below) },
    ]),
  );
}

/** The members in the order of the reference's messages: those of a level before those below it. */
export function pathsOf(set: FieldSet, prefix: Path = []): readonly Path[] {
  const elements = sortedElements(set.keys());
  return [
    ...elements.filter((element) => set.get(element)?.owned === true).map((element) => [...prefix, element]),
    ...elements.flatMap((element) => pathsOf(set.get(element)?.below ?? none, [...prefix, element])),
  ];
}

export function has(set: FieldSet, path: Path): boolean {
  let level: FieldSet = set;
  let owned = false;
  for (const element of path) {
    const node = level.get(element);
    owned = node?.owned ?? false;
    level = node?.below ?? none;
  }
  return owned;
}

/** The path as messages show it: `.spec.containers[name="a"].image`. */
export const pathText = (path: Path): string => path.map(pathElementText).join('');
