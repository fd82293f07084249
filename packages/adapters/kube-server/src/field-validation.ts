import { apiVersionOf, badRequest, invalid, type Json, type JsonObject, type Resource } from '@kubus/kube-objects';
import type { PatchKind } from './patches.ts';
import { conversionError, decodingError, goText, withoutUnknownFields } from '@kubus/kube-schema';

const LEVELS = ['', 'Ignore', 'Strict', 'Warn'];

/**
 * What a write does with fields that the kind does not have (KEP-2885): they are dropped, and by the parameter
 * `fieldValidation` the request is refused, or answered with a warning for each of them.
 */
export class FieldValidation {
  /** For the answer's header `Warning`. */
  readonly warnings: string[] = [];
  readonly #resource: Resource;
  readonly #level: string;

  /**
   * @param options the kind that refusals name: `CreateOptions`, `UpdateOptions` or `PatchOptions`.
   * @throws StatusError 422 for another value of the parameter.
   */
  constructor(resource: Resource, query: URLSearchParams, options: string) {
    this.#resource = resource;
    this.#level = query.get('fieldValidation') ?? '';
    if (LEVELS.includes(this.#level)) return;
    const supported = LEVELS.map((level) => `"${level}"`).join(', ');
    const message = `Unsupported value: "${this.#level}": supported values: ${supported}`;
    const problem = { field: 'fieldValidation', type: 'FieldValueNotSupported', message };
    throw invalid({ group: 'meta.k8s.io', plural: options, kind: options }, '', [problem]);
  }

  /** The object of a request without unknown fields. @throws StatusError 400, also for values of other types than the fields have. */
  body(object: JsonObject): JsonObject {
    const { kind, version } = this.#resource;
    const refused = (reason: string) =>
      badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${reason}`);
    const wrong = decodingError(this.#type(), object);
    if (wrong !== undefined) throw refused(wrong);
    return this.#known(object, refused);
  }

  /** A patched object without unknown fields. @throws StatusError 422, also for values of other types than the fields have. */
  patched(object: JsonObject, patch: Json, kind: PatchKind): JsonObject {
    const strategic = kind === 'strategic-merge';
    const shown = strategic ? goText(patch) : JSON.stringify(object);
    const refused = (reason: string) => {
      const message = `Invalid value: ${JSON.stringify(shown)}: ${reason}`;
      return invalid({ group: '', plural: '', kind: '' }, '', [{ field: 'patch', type: 'FieldValueInvalid', message }]);
    };
    const wrong = (strategic ? conversionError : decodingError)(this.#type(), object);
    if (wrong !== undefined) throw refused(wrong);
    return this.#known(object, refused);
  }

  #type() {
    return { apiVersion: apiVersionOf(this.#resource), kind: this.#resource.kind };
  }

  #known(object: JsonObject, refusal: (reason: string) => Error): JsonObject {
    const result = withoutUnknownFields(this.#type(), object);
    const problems = result.unknown.map((path) => `unknown field "${path}"`);
    if (this.#level === 'Strict' && problems.length > 0) throw refusal(`strict decoding error: ${problems.join(', ')}`);
    if (this.#level !== 'Ignore') this.warnings.push(...problems);
    return result.object;
  }
}
