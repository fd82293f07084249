import { requiredField } from '../field-problems.ts';
import { asList, asText, at, sameJson } from '../json.ts';
import type { FieldProblem } from '../status.ts';
import { plainRules } from './plain-rules.ts';
import { type Rules, keepStatus, statusOnly } from './rules.ts';

/** Source: pkg/registry/resource/resourceclaim and its validation: what a claim asks for never changes, and its users are pods. */
export const resourceClaimRules: Rules = {
  ...plainRules,
  returnsDeleted: true,
  create: (claim) => ({ ...claim, status: {} }),
  update: keepStatus,
  subresources: { status: statusOnly },
  validate: (claim, previous) => [
    ...(previous !== undefined && !sameJson(claim.spec ?? {}, previous.spec ?? {}) ? [IMMUTABLE] : []),
    ...asList(at(claim, 'status', 'reservedFor')).flatMap((one, index): FieldProblem[] =>
      asText(at(one, 'uid')) === '' ? [requiredField(`status.reservedFor[${index}].uid`)] : [],
    ),
  ],
};

const IMMUTABLE: FieldProblem = {
  field: 'spec',
  type: 'FieldValueInvalid',
  message: 'Invalid value: field is immutable',
};
