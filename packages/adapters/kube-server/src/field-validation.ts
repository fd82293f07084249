import {
  apiVersionOf,
  badRequest,
  failure,
  invalid,
  type Json,
  type JsonObject,
  type Resource,
} from '@kubus/kube-objects';
import { withoutUnknownFields } from '@kubus/kube-schema';

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

  /** The object of a request without unknown fields. @throws StatusError 400. */
  body(object: JsonObject): JsonObject {
    return this.#known(object, (reason) => {
      const { kind, version } = this.#resource;
      return badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${reason}`);
    });
  }

  /** A patched object without unknown fields. @param patch what the reference's refusal shows. @throws StatusError 422. */
  patched(object: JsonObject, patch: Json): JsonObject {
    return this.#known(object, (reason) => {
      const message = `Invalid value: ${JSON.stringify(JSON.stringify(patch))}: ${reason}`;
      return invalid({ group: '', plural: '', kind: '' }, '', [{ field: 'patch', type: 'FieldValueInvalid', message }]);
    });
  }

  /** An apply patch as it is. @throws StatusError 500 for unknown fields, at any level. */
  applied(patch: JsonObject, namespace: string, name: string): JsonObject {
    const { group, version, kind } = this.#resource;
    const { unknown } = withoutUnknownFields(this.#type(), patch);
    if (unknown.length === 0) return patch;
    const texts = unknown.map((path) => `.${path}: field not declared in schema`);
    const problems = texts.length === 1 ? (texts[0] ?? '') : `errors:\n${texts.map((text) => `  ${text}`).join('\n')}`;
    const subject = `${namespace}/${name}; ${group}/${version}, Kind=${kind}`;
    throw failure(500, '', `failed to create typed patch object (${subject}): ${problems}`);
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
