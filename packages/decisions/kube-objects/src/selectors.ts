import { asText, at } from './json.ts';
import type { KubeObject } from './object.ts';
import { badRequest } from './status.ts';

export type Selector = (object: KubeObject) => boolean;

/** Field selectors of every kind. Source: API concepts, "Field selectors". */
const COMMON_FIELDS = ['metadata.name', 'metadata.namespace'];
/** Where they are not written they are false. Source: pkg/registry/core/node, pkg/registry/core/pod. */
const FLAGS = new Set(['spec.unschedulable', 'spec.hostNetwork']);

/**
 * @param text such as `spec.nodeName=node0,status.phase!=Failed`.
 * @param fields the fields besides name and namespace that the kind can be selected by.
 * @throws StatusError 400 for a field that it cannot be selected by.
 */
export function fieldSelector(text: string, fields: readonly string[]): Selector {
  const parts = text.split(',').filter((part) => part !== '');
  const checks = parts.map((part): Selector => {
    const [, field = '', operator = '', value = ''] = /^([^=!]+)(!=|==|=)(.*)$/.exec(part) ?? [];
    if (operator === '') {
      throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
    }
    if (![...COMMON_FIELDS, ...fields].includes(field)) {
      throw badRequest(`field label not supported: ${field}`);
    }
    const path = field.split('.');
    return (object) => {
      const found = at(object, ...path);
      const same = (FLAGS.has(field) ? String(found === true) : asText(found)) === value;
      return operator === '!=' ? !same : same;
    };
  });
  return (object) => checks.every((check) => check(object));
}

/**
 * @param text such as `app=web,tier in (a, b),!canary`.
 * @throws StatusError 400.
 */
export function labelSelector(text: string): Selector {
  // A comma within parentheses belongs to its requirement.
  const parts = text.split(/,(?![^(]*\))/).filter((part) => part.trim() !== '');
  const checks = parts.map((part) => labelRequirement(part.trim()));
  return (object) => checks.every((check) => check(object.metadata.labels ?? {}));
}

/** A label's key may not be anything that the language gives every object. */
const KEY = '([A-Za-z0-9][-A-Za-z0-9_./]*)';
const SET = new RegExp(`^${KEY}\\s+(in|notin)\\s*\\(([^)]*)\\)$`);
const EQUALITY = new RegExp(`^${KEY}\\s*(!=|==|=)\\s*([^\\s=!]*)$`);
const EXISTENCE = new RegExp(`^(!?)\\s*${KEY}$`);

function labelRequirement(part: string): (labels: Readonly<Record<string, string>>) => boolean {
  const set = SET.exec(part);
  if (set) {
    const [, key = '', operator = '', list = ''] = set;
    const values = new Set(list.split(',').map((value) => value.trim()));
    return (labels) => {
      const value = valueOf(labels, key);
      return operator === 'in' ? value !== undefined && values.has(value) : value === undefined || !values.has(value);
    };
  }
  const equality = EQUALITY.exec(part);
  if (equality) {
    const [, key = '', operator = '', value = ''] = equality;
    return (labels) => (operator === '!=' ? valueOf(labels, key) !== value : valueOf(labels, key) === value);
  }
  const existence = EXISTENCE.exec(part);
  if (!existence) throw badRequest(`unable to parse requirement: ${part}`);
  const [, absent = '', key = ''] = existence;
  return (labels) => (valueOf(labels, key) === undefined) === (absent === '!');
}

const valueOf = (labels: Readonly<Record<string, string>>, key: string) =>
  Object.hasOwn(labels, key) ? labels[key] : undefined;
