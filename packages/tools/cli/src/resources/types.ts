import { UserError } from '../user-error.ts';
import { events } from './events.ts';
import { manifests } from './manifests.ts';
import { nodes } from './nodes.ts';
import { pods } from './pods.ts';
import { type ResourceType, isType } from './resource-type.ts';

/** The types that `kubus get` knows. */
export const resourceTypes: readonly ResourceType[] = [pods, nodes, events, manifests];

/** The type that a word means. Throws a {@link UserError} that lists the types. */
function typeOf(word: string): ResourceType {
  const found = resourceTypes.find((type) => isType(type, word));
  if (found !== undefined) return found;
  const names = resourceTypes.map(({ name }) => name).join(', ');
  throw new UserError(`a node has no resource type "${word}": it has ${names} ("kubus api-resources")`);
}

/** What `TYPE NAME...`, `TYPE/NAME...` or `TYPE` asks for. */
export interface Asked {
  readonly type: ResourceType;
  readonly names: readonly string[];
}

/**
 * Reads the words after `get`: each type that is asked for once, in the order of the words.
 *
 * @throws UserError for an unknown type, names of several types, or both forms at once, which kubectl refuses, too.
 */
export function askedFor(words: readonly string[]): readonly Asked[] {
  const [first = '', ...rest] = words;
  if (isSlashed(first)) return namedWithTypes(words);
  const types = [...new Set(first.split(',').map(typeOf))];
  const [type, ...others] = types;
  if (type === undefined || others.length > 0) {
    if (rest.length > 0)
      throw new UserError(`"${first}" names several types, and names belong to one: use TYPE/NAME for each`);
    return types.map((type) => ({ type, names: [] }));
  }
  const other = rest.find((word) => isSlashed(word) && !resourceTypes.some((one) => isPrefix(one, word, type)));
  if (other !== undefined) throw new UserError(`there is no need to name a type twice: "${first} ${other}"`);
  return [{ type, names: rest.map((word) => bareName(word, type)) }];
}

function namedWithTypes(words: readonly string[]): readonly Asked[] {
  const names = new Map<ResourceType, string[]>();
  for (const word of words) {
    if (!isSlashed(word)) throw new UserError(`there is no type before "${word}": use TYPE/NAME for each`);
    const slash = word.indexOf('/');
    const type = typeOf(word.slice(0, slash));
    names.set(type, [...(names.get(type) ?? []), word.slice(slash + 1)]);
  }
  return [...names].map(([type, names]) => ({ type, names }));
}

/** Whether the word is `TYPE/NAME`; the path of a manifest contains slashes, too. */
function isSlashed(word: string): boolean {
  return /^[a-z]+\/./.test(word);
}

/** Whether the word is `TYPE/NAME` of the type that was named already, as in `get pods pod/web`. */
function isPrefix(one: ResourceType, word: string, type: ResourceType): boolean {
  return one === type && isType(one, word.slice(0, word.indexOf('/')));
}

function bareName(word: string, type: ResourceType): string {
  const slash = word.indexOf('/');
  return slash > 0 && isType(type, word.slice(0, slash)) ? word.slice(slash + 1) : word;
}
