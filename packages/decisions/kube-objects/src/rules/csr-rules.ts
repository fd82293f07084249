import { timeOfMs } from '@kubus/pod';
import { forbiddenField } from '../field-problems.ts';
import { type JsonObject, asList, asObject, at } from '../json.ts';
import type { KubeObject } from '../object.ts';
import { plainRules } from './plain-rules.ts';
import type { RuleContext, Rules } from './rules.ts';

/** Source: pkg/registry/certificates. The requester is always the authenticated user; the spec never changes. */
export const csrRules: Rules = {
  ...plainRules,
  create: (csr, { user }) => ({
    ...csr,
    spec: {
      ...csr.spec,
      username: user.username,
      groups: user.groups,
      ...(user.uid !== undefined && { uid: user.uid }),
    },
    status: {},
  }),
  update: (next, { spec = {}, status = {} }) => ({ ...next, spec, status }),
  validate: (csr, previous) =>
    ['Approved', 'Denied', 'Failed']
      .filter((type) => hasCondition(previous, type) && !hasCondition(csr, type))
      .map((type) => forbiddenField('status.conditions', `updates may not remove a condition of type "${type}"`)),
  subresources: {
    status: (next, { spec = {} }, context) => ({ ...next, spec, status: stamped(next, context) }),
    approval: (next, { spec = {}, status = {} }, context) => ({
      ...next,
      spec,
      status: { ...status, conditions: stamped(next, context)['conditions'] },
    }),
  },
};

function hasCondition(csr: KubeObject | undefined, type: string): boolean {
  return asList(at(csr, 'status', 'conditions')).some((condition) => at(condition, 'type') === type);
}

function stamped({ status = {} }: KubeObject, { now }: RuleContext): JsonObject {
  const time = timeOfMs(now);
  const conditions = asList(status['conditions']).map((condition) => ({
    lastUpdateTime: time,
    lastTransitionTime: time,
    ...asObject(condition),
  }));
  return { ...status, ...(conditions.length > 0 && { conditions }) };
}
