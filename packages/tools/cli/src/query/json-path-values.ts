import type { Filter, Operand, Operator, Part, Path, Step } from './json-path.ts';

/** The text that a template makes of a document; what does not exist is left out, as with kubectl. */
export function renderTemplate(parts: readonly Part[], document: unknown, current: unknown = document): string {
  return parts
    .map((part) => {
      if (part.kind === 'text') return part.text;
      const values = valuesAt(part.path, document, current);
      if (part.kind === 'path') return values.map(textOf).join(' ');
      return values.map((value) => renderTemplate(part.parts, document, value)).join('');
    })
    .join('');
}

/**
 * The values at a path. A path of an expression begins at `current`, the value of the enclosing range; `$` is the whole document only in
 * filters, as in kubectl.
 */
export function valuesAt({ steps }: Path, root: unknown, current: unknown = root): unknown[] {
  return steps.reduce<unknown[]>((values, step) => values.flatMap((value) => stepFrom(step, value, root)), [current]);
}

/** A value as text: a list or an object as JSON. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

function stepFrom(step: Step, value: unknown, root: unknown): unknown[] {
  switch (step.kind) {
    case 'fields':
      return step.names.flatMap((name) => fieldOf(value, name));
    case 'indexes':
      return isList(value) ? step.indexes.flatMap((index) => present(value.at(index))) : [];
    case 'slice':
      return isList(value) ? sliced(value, step) : [];
    case 'all':
      return childrenOf(value);
    case 'below':
      return [value, ...childrenOf(value).flatMap((child) => stepFrom(step, child, root))];
    case 'filter':
      return childrenOf(value).filter((child) => passes(step.filter, child, root));
  }
}

function fieldOf(value: unknown, name: string): unknown[] {
  if (typeof value !== 'object' || value === null || isList(value) || !Object.hasOwn(value, name)) return [];
  return present((value as Readonly<Record<string, unknown>>)[name]);
}

function sliced(list: readonly unknown[], { from, to, by }: Extract<Step, { kind: 'slice' }>): unknown[] {
  return list.slice(from, to).filter((_, index) => index % by === 0);
}

function childrenOf(value: unknown): unknown[] {
  if (isList(value)) return [...value];
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

function present(value: unknown): unknown[] {
  return value === undefined ? [] : [value];
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function passes({ left, operator, right }: Filter, current: unknown, root: unknown): boolean {
  const [one] = operandValues(left, current, root);
  if (operator === undefined || right === undefined) return one !== undefined;
  const [other] = operandValues(right, current, root);
  return compares(one, operator, other);
}

function operandValues(operand: Operand, current: unknown, root: unknown): unknown[] {
  if ('value' in operand) return [operand.value];
  return valuesAt(operand.path, root, operand.path.isFromRoot ? root : current);
}

/** Values of different types are unequal and have no order. */
function compares(one: unknown, operator: Operator, other: unknown): boolean {
  if (operator === '==') return one === other;
  if (operator === '!=') return one !== other;
  if (typeof one === 'string' && typeof other === 'string') return inOrder(one, operator, other);
  return typeof one === 'number' && typeof other === 'number' && inOrder(one, operator, other);
}

function inOrder<T extends string | number>(one: T, operator: Operator, other: T): boolean {
  if (operator === '<') return one < other;
  if (operator === '<=') return one <= other;
  return operator === '>' ? one > other : one >= other;
}
