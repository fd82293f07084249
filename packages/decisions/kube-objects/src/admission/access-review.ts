import type { AccessRequest, Asker } from '../access.ts';
import { invalidField, requiredField } from '../field-problems.ts';
import { type Json, type JsonObject, asList, asObject, asText } from '../json.ts';
import type { Review } from '../reviews.ts';
import { labelSelector } from '../selectors.ts';
import { type FieldProblem, StatusError, invalid } from '../status.ts';

/** What a review asks about. */
interface ReviewedRequest extends Omit<AccessRequest, 'user'> {
  /** Undefined: whoever asks. */
  readonly user: Asker | undefined;
  /** Of a request that is not about objects; else undefined, and the rest counts. */
  readonly path: string | undefined;
  /** What could not be read and is left out; empty: nothing. */
  readonly evaluationError: string;
}

const AT = 'spec.resourceAttributes';

/**
 * What an access review asks about. Source: pkg/apis/authorization/validation, pkg/registry/authorization/util.
 *
 * @param namespace of the path; empty: none.
 * @throws StatusError 422.
 */
export function reviewedRequest(review: Review, body: JsonObject, namespace: string): ReviewedRequest {
  const spec = asObject(body['spec']);
  const attributes = asObject(spec['resourceAttributes']);
  const problems = [...problemsOf(review, spec), ...localProblems(review, body, namespace)];
  if (problems.length > 0) throw invalid(review, '', problems);
  const fields = fieldSelectorOf(asObject(attributes['fieldSelector']));
  const labels = labelProblem(asObject(attributes['labelSelector']));
  const text = (field: string) => asText(attributes[field]);
  const other = asObject(spec['nonResourceAttributes']);
  const isOfPath = isGiven(spec['nonResourceAttributes']);
  return {
    user:
      review.kind === 'SelfSubjectAccessReview'
        ? undefined
        : { username: asText(spec['user']), groups: asList(spec['groups']).map(asText) },
    verb: isOfPath ? asText(other['verb']) : text('verb'),
    path: isOfPath ? asText(other['path']) : undefined,
    ...{ group: text('group'), resource: text('resource'), subresource: text('subresource') },
    ...{ namespace: text('namespace'), name: text('name') },
    ...(fields.selector !== '' && { fieldSelector: fields.selector }),
    evaluationError: [...fields.problems, ...labels].join('; '),
  };
}

const isGiven = (value: Json | undefined) => (value ?? null) !== null;

function problemsOf({ kind }: Review, spec: JsonObject): FieldProblem[] {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  const isNobody = asText(spec['user']) === '' && asList(spec['groups']).length === 0;
  return [
    ...(isGiven(resource) && isGiven(path)
      ? [invalidField('spec.nonResourceAttributes', path, 'cannot be specified in combination with resourceAttributes')]
      : []),
    ...(!isGiven(resource) && !isGiven(path)
      ? [invalidField(AT, null, 'exactly one of nonResourceAttributes or resourceAttributes must be specified')]
      : []),
    ...(kind !== 'SelfSubjectAccessReview' && isNobody
      ? [invalidField('spec.user', '', 'at least one of user or group must be specified')]
      : []),
    ...['fieldSelector', 'labelSelector'].flatMap((field) =>
      selectorProblems(asObject(resource)[field], `${AT}.${field}`),
    ),
  ];
}

function localProblems({ kind }: Review, { spec }: JsonObject, namespace: string): FieldProblem[] {
  if (kind !== 'LocalSubjectAccessReview') return [];
  const { resourceAttributes: resource, nonResourceAttributes: path } = asObject(spec);
  const given = asText(asObject(resource)['namespace']);
  return [
    ...(isGiven(resource) && given !== namespace
      ? [invalidField(`${AT}.namespace`, given, 'must match metadata.namespace')]
      : []),
    ...(isGiven(path) ? [invalidField('spec.nonResourceAttributes', path, 'disallowed on this kind of request')] : []),
  ];
}

function selectorProblems(value: Json | undefined, field: string): FieldProblem[] {
  if (!isGiven(value)) return [];
  const { rawSelector, requirements } = asObject(value);
  const raw = asText(rawSelector);
  const isListed = asList(requirements).length > 0;
  if (raw !== '' && isListed) {
    return [invalidField(`${field}.rawSelector`, raw, 'may not specified at the same time as requirements')];
  }
  if (raw !== '' || isListed) return [];
  const why = `when ${field} is specified, requirements or rawSelector is required`;
  return [requiredField(`${field}.requirements`, why)];
}

/** As a text, of what can be read: a requirement that is left out makes the question a wider one. */
function fieldSelectorOf({ rawSelector, requirements }: JsonObject): { selector: string; problems: string[] } {
  const raw = asText(rawSelector);
  if (raw !== '') {
    const isReadable = raw.split(',').every((part) => /^[^=!]+(!=|==?)[^=!]*$/.test(part));
    return isReadable ? { selector: raw, problems: [] } : { selector: '', problems: [ignored('fieldSelector', false)] };
  }
  const listed = asList(requirements).map(asObject);
  const known = listed.flatMap(({ key, operator, values }) => {
    const [value, ...more] = asList(values).map(asText);
    const sign = { In: '=', NotIn: '!=' }[asText(operator)];
    return sign === undefined || value === undefined || more.length > 0 ? [] : [`${asText(key)}${sign}${value}`];
  });
  const isWhole = known.length === listed.length;
  return { selector: known.join(','), problems: isWhole ? [] : [ignored('fieldSelector', known.length > 0)] };
}

/** Nobody's rights depend on labels: only what cannot be read is said. */
function labelProblem({ rawSelector, requirements }: JsonObject): string[] {
  const operators = asList(requirements).map((one) => asText(asObject(one)['operator']));
  const known = operators.filter((one) => ['In', 'NotIn', 'Exists', 'DoesNotExist'].includes(one));
  if (known.length < operators.length) return [ignored('labelSelector', known.length > 0)];
  try {
    labelSelector(asText(rawSelector));
    return [];
  } catch (error) {
    if (error instanceof StatusError) return [ignored('labelSelector', false)];
    throw error;
  }
}

const ignored = (field: string, partially: boolean) =>
  `${AT}.${field} ${partially ? 'partially ' : ''}ignored due to parse error`;
