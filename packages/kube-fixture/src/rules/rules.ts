import type { Json, JsonObject } from '../json.ts';
import type { KubeObject } from '../object.ts';
import type { FieldProblem } from '../status.ts';

/** What rules may look at besides the object itself. */
export interface RuleContext {
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /** Whose request it is. */
  readonly user: { readonly username: string; readonly uid?: string; readonly groups: readonly string[] };
  /** An object of a kind that is not namespaced. */
  readonly find: (kind: string, name: string) => KubeObject | undefined;
}

/** How one kind differs from others where a client can tell. All functions are pure; each returns a new object. */
export interface Rules {
  /** A PUT of what is not there makes it. */
  readonly createOnUpdate: boolean;
  /** A PUT need not say which version it replaces. */
  readonly unconditionalUpdate: boolean;
  /** A deletion is answered with the object; otherwise with a Status. */
  readonly returnsDeleted: boolean;
  /** Objects have a generation, which grows when these parts change. */
  readonly generationOf?: (object: KubeObject) => Json;
  /** Defaults, admission, and what a creator may not set. May throw a StatusError. */
  readonly create: (object: KubeObject, context: RuleContext) => KubeObject;
  /** What a request to the object itself leaves as it was. */
  readonly update: (next: KubeObject, previous: KubeObject, context: RuleContext) => KubeObject;
  /** As `update`, by subresource. */
  readonly subresources: Readonly<Record<string, Rules['update']>>;
  /**
   * What is wrong with the result of a change.
   *
   * @param previous undefined for a new object.
   * @param subresource empty: the object itself.
   */
  readonly validate: (
    object: KubeObject,
    previous: KubeObject | undefined,
    subresource: string,
  ) => readonly FieldProblem[];
  /**
   * Seconds that the object gets to end when its deletion is asked for; 0: none. Left out for kinds that are deleted at once.
   *
   * @param asked the user's own.
   */
  readonly grace?: (object: KubeObject, asked: number | undefined) => number;
}

export const keepStatus = (next: KubeObject, { status }: KubeObject): KubeObject => withField(next, 'status', status);

/** The object with that field, or without it when the value is undefined. */
export function withField<T extends JsonObject>(object: T, field: string, value: Json | undefined): T {
  const { [field]: _, ...rest } = object;
  return (value === undefined ? rest : { ...rest, [field]: value }) as T;
}

/** What requests to a status subresource may change of most kinds. */
export function statusOnly(next: KubeObject, previous: KubeObject): KubeObject {
  return withField(previous, 'status', next.status);
}
