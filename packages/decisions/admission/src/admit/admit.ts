import type { Pod, Refusal } from '@kubus/contracts';
import { isCritical, logFolder, logFolderExcess } from '@kubus/pod';
import { refuseAppArmor } from './app-armor.ts';
import type { AdmissionNode } from '../admission-node.ts';
import { predicateFailures, refusePlatform } from './predicates.ts';
import { type Neighbour, preemptionVictims } from './preemption.ts';
import { type Shortage, shortageRefusal } from './resources-fit.ts';
import { refusePressure } from './pressure.ts';
import { refuseSysctls } from './sysctls.ts';

export type { Neighbour } from './preemption.ts';

export type Admission =
  /** `victims`: UIDs of pods that have to end first. */
  | { readonly admitted: true; readonly victims: readonly string[] }
  /** `short`: because the node has too little of a resource left. */
  | { readonly admitted: false; readonly refusal: Refusal; readonly short: boolean };

type Answer = Refusal | { readonly shortage: Refusal } | { readonly victims: readonly string[] } | undefined;

/**
 * The checks in the order of behaviour:admission; the first refusal counts. The resource managers (row 3) come after the sysctls, and the node's shutdown (row 8) last. Names that cannot exist on the node
 * are ours; those of manifests were refused with them.
 */
const handlers: readonly ((pod: Pod, neighbours: readonly Neighbour[], node: AdmissionNode) => Answer)[] = [
  (pod, _neighbours, node) => refusePressure(pod, node.pressure),
  refuseName,
  (pod, _neighbours, node) => refuseSysctls(pod, node.sysctls),
  (pod, _neighbours, node) => refusePlatform(pod, node),
  askPredicates,
  (pod, _neighbours, node) => refuseAppArmor(pod, node),
];

/** Whether the node admits a pod in addition to those that it has (behaviour:admission). */
export function admit(pod: Pod, neighbours: readonly Neighbour[], node: AdmissionNode): Admission {
  let victims: readonly string[] = [];
  for (const handler of handlers) {
    const answer = handler(pod, neighbours, node);
    if (answer === undefined) continue;
    if ('reason' in answer) return { admitted: false, refusal: answer, short: false };
    if ('shortage' in answer) return { admitted: false, refusal: answer.shortage, short: true };
    victims = answer.victims;
  }
  return { admitted: true, victims };
}

function refuseName({ metadata }: Pod): Answer {
  const excess = logFolderExcess(metadata);
  if (excess === 0) return undefined;
  const name = logFolder(metadata);
  return {
    reason: 'NameTooLong',
    message: `The pod's log folder <namespace>_<name>_<uid> would have a name of ${name.length} characters, ${excess} more than can exist`,
  };
}

/** A critical pod is never refused for resources that less important pods use. */
function askPredicates(pod: Pod, neighbours: readonly Neighbour[], node: AdmissionNode): Answer {
  const claims = neighbours.map(({ claim }) => claim);
  const { shortages, others } = predicateFailures(pod, claims, node);
  const [shortage] = shortages;
  const [other] = others;
  if (shortage === undefined) return other;
  if (!isCritical(pod)) return { shortage: shortageRefusal(shortage) };
  if (other !== undefined) return other;
  const victims = preemptionVictims(pod, neighbours, shortages);
  return victims === undefined ? preemptionFailed(shortages) : { victims };
}

function preemptionFailed(shortages: readonly Shortage[]): Refusal {
  const missing = shortages.map(
    ({ resource, requested, used, capacity }) => `(res: ${resource}, q: ${requested - (capacity - used)}), `,
  );
  return {
    reason: 'UnexpectedAdmissionError',
    message:
      'Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods ' +
      `to preempt: no set of running pods found to reclaim resources: [${missing.join('')}]`,
  };
}
