import { requiredField } from '../field-problems.ts';
import { type Json, type JsonObject, asList, asObject, asText, at, sameJson } from '../json.ts';
import type { KubeObject } from '../object.ts';
import type { FieldProblem } from '../status.ts';
import { plainRules } from './plain-rules.ts';
import { type Rules, keepStatus, statusOnly } from './rules.ts';

/** Source: pkg/registry/resource/resourceclaim and its validation: what a claim asks for never changes, and its users are pods. */
export const resourceClaimRules: Rules = {
  ...plainRules,
  returnsDeleted: true,
  defaults: (claim) => (claim.spec === undefined ? claim : { ...claim, spec: withRequests(claim.spec) }),
  create: (claim) => ({ ...claim, status: {} }),
  update: keepStatus,
  subresources: { status: statusOnly },
  validate: (claim, previous) => [
    ...fixedSpec(claim, previous),
    ...requestProblems(claim.spec, 'spec'),
    ...asList(at(claim, 'status', 'reservedFor')).flatMap((one, index): FieldProblem[] =>
      asText(at(one, 'uid')) === '' ? [requiredField(`status.reservedFor[${index}].uid`)] : [],
    ),
  ],
};

/** Source: pkg/registry/resource/resourceclaimtemplate and its validation: a template never changes. */
export const claimTemplateRules: Rules = {
  ...plainRules,
  returnsDeleted: true,
  defaults: (template) => {
    const { metadata = {}, spec } = asObject(template.spec);
    return { ...template, spec: { ...template.spec, metadata, spec: withRequests(asObject(spec)) } };
  },
  validate: (template, previous) => [
    ...fixedSpec(template, previous),
    ...requestProblems(at(template, 'spec', 'spec'), 'spec.spec'),
  ],
};

/** Source: pkg/registry/resource/deviceclass and its validation. */
export const deviceClassRules: Rules = {
  ...plainRules,
  returnsDeleted: true,
  generationOf: ({ spec = {} }) => spec,
  defaults: (one) => ({ spec: {}, ...one }),
  validate: ({ spec }) =>
    asList(spec?.['selectors']).flatMap((selector, index): FieldProblem[] => {
      const field = `spec.selectors[${index}].cel`;
      const cel = at(selector, 'cel');
      if (cel === undefined || cel === null) return [requiredField(field)];
      return asText(at(cel, 'expression')) === '' ? [requiredField(`${field}.expression`)] : [];
    }),
};

function fixedSpec({ spec = {} }: KubeObject, previous: KubeObject | undefined): FieldProblem[] {
  if (previous === undefined || sameJson(spec, previous.spec ?? {})) return [];
  return [{ field: 'spec', type: 'FieldValueInvalid', message: 'Invalid value: field is immutable' }];
}

/** What a claim asks for, with the defaults of resource/v1. */
function withRequests(spec: JsonObject): JsonObject {
  const devices = asObject(spec['devices']);
  if (!Array.isArray(devices['requests'])) return spec;
  const requests = asList(devices['requests']).map((one): Json => {
    const request = asObject(one);
    const { exactly, firstAvailable } = request;
    return {
      ...request,
      ...(exactly !== undefined && exactly !== null && { exactly: counted(exactly) }),
      ...(Array.isArray(firstAvailable) && { firstAvailable: firstAvailable.map((each: Json) => counted(each)) }),
    };
  });
  return { ...spec, devices: { ...devices, requests } };
}

function counted(request: Json): Json {
  const { allocationMode, count, ...rest } = asObject(request);
  const mode = asText(allocationMode) === '' ? 'ExactCount' : allocationMode;
  const given = count === undefined || count === null || count === 0 ? undefined : count;
  const number = given ?? (mode === 'ExactCount' ? 1 : undefined);
  return { ...rest, allocationMode: mode ?? 'ExactCount', ...(number !== undefined && { count: number }) };
}

function requestProblems(spec: Json | undefined, path: string): FieldProblem[] {
  return asList(at(spec, 'devices', 'requests')).flatMap((request, index): FieldProblem[] => {
    const hasOne = (at(request, 'exactly') ?? null) !== null;
    const hasSeveral = asList(at(request, 'firstAvailable')).length > 0;
    const field = `${path}.devices.requests[${index}]`;
    if (!hasOne && !hasSeveral)
      return [requiredField(field, 'exactly one of `exactly` or `firstAvailable` is required')];
    if (!hasOne || asText(at(request, 'exactly', 'deviceClassName')) !== '') return [];
    return [requiredField(`${field}.exactly.deviceClassName`)];
  });
}
