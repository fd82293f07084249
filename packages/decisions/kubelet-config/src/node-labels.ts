import { labelValueText, qualifiedName } from '@kubus/pod-source/names';

/** Labels in the Kubernetes domains that a node may set on itself (behaviour:node-object). */
const allowed: ReadonlySet<string> = new Set([
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
]);
const allowedDomains = ['kubelet.kubernetes.io', 'node.kubernetes.io'];

/** The problem of `--node-labels`, with the reference's text; undefined: none. */
export function labelProblem(labels: Readonly<Record<string, string>>): string | undefined {
  const unknown = Object.keys(labels).filter((key) => isOfKubernetes(key) && !mayBeSet(key));
  if (unknown.length > 0) {
    return `unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [${unknown.sort().join(' ')}]`;
  }
  const invalid = Object.entries(labels).flatMap(([key, value]) => {
    const wrong = [...qualifiedName(key), ...labelValueText(value)];
    return wrong.length === 0 ? [] : [`'${key}=${value}' - ${wrong.join(', ')}`];
  });
  return invalid.length === 0 ? undefined : `invalid node labels: ${invalid.join('; ')}`;
}

function isBelow(key: string, parent: string): boolean {
  const [prefix] = key.includes('/') ? key.split('/') : [''];
  return prefix === parent || prefix?.endsWith(`.${parent}`) === true;
}

function isOfKubernetes(key: string): boolean {
  return isBelow(key, 'kubernetes.io') || isBelow(key, 'k8s.io');
}

function mayBeSet(key: string): boolean {
  return allowed.has(key) || allowedDomains.some((parent) => isBelow(key, parent));
}
