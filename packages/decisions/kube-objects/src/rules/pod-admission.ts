import { type Json, asList, asObject, asText, at } from '../json.ts';
import { withServiceAccount } from '../admission/service-account.ts';
import type { KubeObject } from '../object.ts';
import { forbidden } from '../status.ts';
import type { RuleContext } from './rules.ts';

/** How long a pod stays on a node that is not ready or cannot be reached, in seconds. */
const TOLERATION_SECONDS = 300;
const TAINTS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];
/** The classes that every cluster has. Source: pkg/apis/scheduling. */
const PRIORITIES: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

/**
 * A new pod with what the admission plugins ServiceAccount, Priority, DefaultTolerationSeconds and RuntimeClass add.
 *
 * @throws StatusError 403 for a missing class or service account.
 */
export function admittedPod(given: KubeObject, context: RuleContext): KubeObject {
  const pod = context.serviceAccounts ? withServiceAccount(given, context) : given;
  const { spec = {} } = pod;
  const priorityClass = priorityClassOf(pod, context);
  const overhead = overheadOf(pod, context);
  return toleratingPod({
    ...pod,
    spec: {
      ...spec,
      priority: priorityClass?.value ?? spec['priority'] ?? 0,
      preemptionPolicy: spec['preemptionPolicy'] ?? priorityClass?.preemptionPolicy ?? 'PreemptLowerPriority',
      ...(priorityClass !== undefined && { priorityClassName: priorityClass.name }),
      ...(overhead !== undefined && { overhead }),
    },
  });
}

/** Of a pod that names none: the default one with the lowest value; undefined if there is none. */
function priorityClassOf(
  pod: KubeObject,
  { find, all }: RuleContext,
): { name: string; value: number; preemptionPolicy?: string } | undefined {
  const name = asText(pod.spec?.['priorityClassName']);
  const known = PRIORITIES[name];
  if (known !== undefined) return { name, value: known };
  const [byDefault] = all('PriorityClass')
    .filter((one) => one['globalDefault'] === true)
    .sort((one, other) => Number(one['value']) - Number(other['value']));
  const found = name === '' ? byDefault : find('PriorityClass', name);
  if (found !== undefined) {
    const { value, preemptionPolicy, metadata } = found;
    return { name: metadata.name, value: Number(value), preemptionPolicy: asText(preemptionPolicy) };
  }
  if (name === '') return undefined;
  throw forbidden(POD, pod.metadata.name, `no PriorityClass with name ${name} was found`);
}

const POD = { group: '', plural: 'pods', kind: 'Pod' };

/** The pod with what the plugin DefaultTolerationSeconds adds; also to one that is changed. */
export function toleratingPod(pod: KubeObject): KubeObject {
  const tolerations = asList(pod.spec?.['tolerations']);
  const missing = TAINTS.filter((taint) => !tolerations.some((toleration) => tolerates(toleration, taint)));
  if (missing.length === 0) return pod;
  const added = missing.map((key) => ({
    key,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: TOLERATION_SECONDS,
  }));
  return { ...pod, spec: { ...pod.spec, tolerations: [...tolerations, ...added] } };
}

function tolerates(toleration: Json, taint: string): boolean {
  const { key, effect } = asObject(toleration);
  return ['', taint].includes(asText(key)) && ['', 'NoExecute'].includes(asText(effect));
}

function overheadOf(pod: KubeObject, { find }: RuleContext): Json | undefined {
  const name = asText(pod.spec?.['runtimeClassName']);
  if (name === '') return undefined;
  const runtimeClass = find('RuntimeClass', name);
  if (runtimeClass === undefined) {
    throw forbidden(POD, pod.metadata.name, `pod rejected: RuntimeClass "${name}" not found`);
  }
  return at(runtimeClass, 'overhead', 'podFixed');
}
