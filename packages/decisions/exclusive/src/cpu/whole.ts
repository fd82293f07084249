import { type CpuSet, difference, union } from '../cpu-set.ts';
import { emptyCpuPool } from '../empty-pool.ts';
import { type Ledger, entryOf, wholeOf, withEntry } from '../ledger.ts';
import type { PodRequest, WholePod } from '../request.ts';
import type { NodeMask } from '../topology/hint.ts';
import { type CpuPolicy, type CpuRefusal, availableCpus, nearCpus, smtRefusal, takenCpus } from './policy.ts';

/**
 * The ledger with the CPUs of a pod that gets them as a whole, and with those of its containers, which are among them. A pod and containers
 * that have CPUs keep them.
 */
export function allocatedPodCpus(
  policy: CpuPolicy,
  ledger: Ledger,
  {
    pod,
    whole,
    affinity,
  }: { readonly pod: PodRequest; readonly whole: WholePod; readonly affinity: NodeMask | undefined },
): Ledger | CpuRefusal {
  if (whole.cpus === 0) return ledger;
  const had = wholeOf(ledger.podCpus, pod.uid);
  if (had !== undefined) return divided(policy, ledger, pod, had);
  const problem = emptyCpuPool(pod, whole);
  if (problem !== undefined) return { reason: 'EmptyPodSharedPoolError', problem };
  const refusal = smtRefusal(policy, ledger, whole.cpus);
  if (refusal !== undefined) return refusal;
  const given = nearCpus(policy, availableCpus(policy, ledger), { affinity, count: whole.cpus });
  if ('problem' in given) return { reason: undefined, problem: given.problem };
  const podCpus = { ...ledger.podCpus, [pod.uid]: given };
  return divided(policy, { ...ledger, shared: difference(ledger.shared, given), podCpus }, pod, given);
}

/**
 * Divides a pod's CPUs: each container that requests some gets them for itself, the others share the rest. Init containers that end have any
 * that no sidecar before them has, as app containers start when they have ended.
 */
function divided(policy: CpuPolicy, ledger: Ledger, pod: PodRequest, all: CpuSet): Ledger | CpuRefusal {
  const own = new Map<string, CpuSet>();
  let [sidecars, apps]: [CpuSet, CpuSet] = [[], []];
  for (const { name, kind, cpus } of pod.containers) {
    const free = difference(all, union(sidecars, apps));
    if (cpus === 0) {
      if (kind === 'init') own.set(name, free);
      continue;
    }
    const given = takenCpus(policy, free, cpus);
    if ('problem' in given) return { reason: undefined, problem: given.problem };
    own.set(name, given);
    if (kind === 'sidecar') sidecars = union(sidecars, given);
    if (kind === 'app') apps = union(apps, given);
  }
  const rest = difference(all, union(sidecars, apps));
  const lacking = pod.containers.filter(({ name }) => entryOf(ledger.cpus, pod.uid, name) === undefined);
  const cpus = lacking.reduce(
    (entries, { name }) => withEntry(entries, pod.uid, name, own.get(name) ?? rest),
    ledger.cpus,
  );
  return { ...ledger, cpus };
}
