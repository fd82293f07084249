import { forbiddenField } from '../field-problems.ts';
import { type Json, asList, asObject, at, sameJson } from '../json.ts';
import type { KubeObject } from '../object.ts';
import type { FieldProblem } from '../status.ts';
import { plainRules } from './plain-rules.ts';
import { type Rules, keepStatus } from './rules.ts';

/** Admission TaintNodesByCondition: nothing is scheduled to a new node before it is ready. */
const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

/** Source: pkg/registry/core/node. A creator may set a status; a status request may change labels and annotations. */
export const nodeRules: Rules = {
  ...plainRules,
  create: (node) => {
    const taints = asList(node.spec?.['taints']);
    const tainted = taints.some((taint) => sameJson({ ...NOT_READY, ...picked(taint) }, NOT_READY));
    return whole({ ...node, spec: { ...node.spec, taints: tainted ? taints : [...taints, NOT_READY] } });
  },
  update: keepStatus,
  subresources: { status: (next, { spec = {} }) => whole({ ...next, spec }) },
  validate: (node, previous) => [
    ...immutable('spec.podCIDRs', at(node, 'spec', 'podCIDRs'), at(previous, 'spec', 'podCIDRs')),
    ...immutable('spec.providerID', at(node, 'spec', 'providerID'), at(previous, 'spec', 'providerID')),
  ],
};

/** With the fields that the API always writes. */
function whole(node: KubeObject): KubeObject {
  const nodeInfo = { ...NO_INFO, ...asObject(at(node, 'status', 'nodeInfo')) };
  return { ...node, status: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, ...node.status, nodeInfo } };
}

const NO_INFO = Object.fromEntries(
  [
    'machineID',
    'systemUUID',
    'bootID',
    'kernelVersion',
    'osImage',
    'containerRuntimeVersion',
    'kubeletVersion',
    'kubeProxyVersion',
    'operatingSystem',
    'architecture',
  ].map((field) => [field, '']),
);

function picked(taint: Json): { key?: Json; effect?: Json } {
  const { key = null, effect = null } = asObject(taint);
  return { key, effect };
}

/** Both may be set once. */
function immutable(field: string, value: Json | undefined, previous: Json | undefined): FieldProblem[] {
  if (previous === undefined || sameJson(value, previous)) return [];
  const said = field === 'spec.podCIDRs' ? 'podCIDR' : field.replace('spec.', '');
  return [forbiddenField(field, `node updates may not change ${said} except from "" to valid`)];
}
