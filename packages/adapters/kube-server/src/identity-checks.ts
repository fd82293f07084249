import {
  apiVersionOf,
  asObject,
  asText,
  badRequest,
  invalid,
  type JsonObject,
  type KubeObject,
  type Resource,
} from '@kubus/kube-objects';
import type { Target } from './target.ts';

/** The fields that name an object's type. */
export const typeOf = (resource: Resource) => ({ kind: resource.kind, apiVersion: apiVersionOf(resource) });

/** @throws StatusError 422 for another UID than the stored object's. */
export function checkUid({ resource, name }: Target, body: JsonObject, previous: KubeObject): void {
  const uid = asText(asObject(body['metadata'])['uid']);
  if (uid === previous.metadata.uid) return;
  const message = `Invalid value: "${uid}": field is immutable`;
  throw invalid(resource, name, [{ field: 'metadata.uid', type: 'FieldValueInvalid', message }]);
}

/** The refusal of a name that is not that of the path. */
export const otherName = (given: string, asked: string) =>
  `the name of the object (${given}) does not match the name on the URL (${asked})`;

/** @throws StatusError 400 for an object of another kind. */
export function checkType(resource: Resource, body: JsonObject): void {
  const { kind, apiVersion } = typeOf(resource);
  const [givenKind = kind, givenVersion = apiVersion] = [body['kind'], body['apiVersion']];
  if (givenKind === kind && givenVersion === apiVersion) return;
  throw badRequest(
    `${kind} in version "${resource.version}" cannot be handled as a ${kind}: the object provided is a ${asText(givenKind)} of ${asText(givenVersion)}`,
  );
}

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const BAD_NAME =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/** @throws StatusError 422 for a name that no object may have. */
export function checkName(resource: Resource, name: string): void {
  const own = resource.signerPrefix === true ? name.slice(name.lastIndexOf(':') + 1) : name;
  if (SUBDOMAIN.test(own) && name.length <= 253) return;
  const message = `Invalid value: ${JSON.stringify(name)}: ${BAD_NAME}`;
  throw invalid(resource, name, [{ field: 'metadata.name', type: 'FieldValueInvalid', message }]);
}
