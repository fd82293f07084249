import type { Json, JsonObject } from '../json.ts';
import type { KubeObject } from '../object.ts';
import type { FieldProblem } from '../status.ts';

/** The context of rules besides the object itself. */
export interface RuleContext {
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /** The user of the request. */
  readonly user: { readonly username: string; readonly uid?: string; readonly groups: readonly string[] };
  /** @param namespace left out for kinds that are not namespaced. */
  readonly find: (kind: string, name: string, namespace?: string) => KubeObject | undefined;
  /** Whether new pods get a service account, as with the reference's plugin of that name. */
  readonly serviceAccounts: boolean;
  /** A name that nothing else has: the prefix with five letters. */
  readonly generatedName: (prefix: string) => string;
  /** All objects of a kind. */
  readonly all: (kind: string) => readonly KubeObject[];
}

/** The special behaviour of a kind, as far as clients notice it. All functions are pure; each returns a new object. */
export interface Rules {
  /** A PUT of a missing object creates it. */
  readonly createOnUpdate: boolean;
  /** A PUT may omit the version that it replaces. */
  readonly unconditionalUpdate: boolean;
  /** A deletion is answered with the object; otherwise with a Status. */
  readonly returnsDeleted: boolean;
  /** Objects have a generation, which grows when these parts change. */
  readonly generationOf?: (object: KubeObject) => Json;
  /**
   * An object of a request with what the API's defaults add. What they add to a new object is its creator's, as
   * `metadata.managedFields` has it; what `create` and `update` add is nobody's. May throw a StatusError.
   */
  readonly defaults: (object: KubeObject) => KubeObject;
  /** Admission, and fields that a creator may not set. May throw a StatusError. */
  readonly create: (object: KubeObject, context: RuleContext) => KubeObject;
  /** Restores the fields that a request to the object itself may not change. */
  readonly update: (next: KubeObject, previous: KubeObject, context: RuleContext) => KubeObject;
  /** As `update`, by subresource. */
  readonly subresources: Readonly<Record<string, Rules['update']>>;
  /**
   * The validation errors of a change.
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
   * The grace period in seconds when its deletion is requested; 0: none. Absent for kinds that are deleted at once.
   *
   * @param asked the requested value.
   */
  readonly grace?: (object: KubeObject, asked: number | undefined) => number;
  /**
   * A deleted object of a kind that has content: it stays until a controller has removed that, and then its `spec.finalizers`.
   *
   * @param time of the request, RFC 3339.
   */
  readonly terminating?: (object: KubeObject, time: string) => KubeObject;
}

export const keepStatus = (next: KubeObject, { status }: KubeObject): KubeObject => withField(next, 'status', status);

/** The object with that field, or without it when the value is undefined. */
export function withField<T extends JsonObject>(object: T, field: string, value: Json | undefined): T {
  const { [field]: _, ...rest } = object;
  return (value === undefined ? rest : { ...rest, [field]: value }) as T;
}

/** The parts that requests to a status subresource may change for most kinds. */
export function statusOnly(next: KubeObject, previous: KubeObject): KubeObject {
  return withField(previous, 'status', next.status);
}
