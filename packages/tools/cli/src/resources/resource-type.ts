import type { NodeLink } from '../node/node-link.ts';

/** An object as the Kubernetes API would show it. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
  };
}

/** A column of the table of a type. */
interface Column {
  readonly title: string;
  /** Only with `-o wide`. */
  readonly isWide?: boolean;
  /** Its text changes with time alone. */
  readonly isAge?: boolean;
  /** The name of the object; the type stands before it where several types are listed. */
  readonly isName?: boolean;
}

/** One object of a node. */
export interface Item {
  /** Unique within its type; stays the same while the object exists. */
  readonly key: string;
  readonly object: ApiObject;
  /** The cells of all columns. @param now milliseconds since the Unix epoch */
  readonly cells: (now: number) => readonly string[];
  /** Whether a name on the command line means this object; default: whether it is the object's name. */
  readonly isNamed?: (name: string) => boolean;
}

/** The objects of one type; it follows their changes. */
interface Collection {
  /** In the order in which they are printed. */
  readonly items: () => readonly Item[];
}

/** A type of objects that `kubus get` knows. */
export interface ResourceType {
  /** In plural, as on the command line. */
  readonly name: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly apiVersion: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly about: string;
  readonly columns: readonly Column[];
  /** The fields that `--field-selector` can select by. */
  readonly fields: readonly string[];
  /** @param onChange called with the key of an object that was added or changed, or removed */
  readonly open: (link: NodeLink, onChange: (key: string) => void) => Promise<Collection>;
}

/** Whether a word on the command line means the type. */
export function isType({ name, singular, shortNames }: ResourceType, word: string): boolean {
  return [name, singular, ...shortNames].includes(word.toLowerCase());
}
