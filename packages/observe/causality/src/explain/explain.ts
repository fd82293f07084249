import {
  type EvictionDecision,
  type PodStatus,
  type PodVolumes,
  type PodWork,
  type PodWorkerReport,
  bareType,
  networkCondition,
  podVolumes,
  podWork,
  runtimeCondition,
  typeOf,
} from '@kubus/contracts';
import { formatAge } from '@kubus/pod';
import type { RecordedEvent } from '../recorded-events.ts';
import { EVENT, WORKER, explainContainers, explainEnd, joined, stop } from './explain-containers.ts';
import { whyThisPod } from './explain-eviction.ts';
import type { Explanation } from './explanation.ts';

const WORK = bareType(typeOf(podWork));
const VOLUMES = bareType(typeOf(podVolumes));
const RUNTIME = bareType(typeOf(runtimeCondition));
const NETWORK = bareType(typeOf(networkCondition));

/** What is known of a pod. */
export interface WhyInput {
  readonly work: PodWork;
  /** Whether the node has nothing of it any more. */
  readonly isGone: boolean;
  readonly status: PodStatus | undefined;
  readonly worker: PodWorkerReport | undefined;
  readonly volumes: PodVolumes | undefined;
  /** Newest last. */
  readonly events: readonly RecordedEvent[];
  /** Of an evicted pod: what the request to evict it said. */
  readonly decision?: EvictionDecision | undefined;
  /** Why the node cannot run pods; empty: it can. */
  readonly nodeProblems: readonly string[];
  /** Milliseconds since the Unix epoch; undefined: the text does not say how long ago something was. */
  readonly now: number | undefined;
}

/** What a pod waits for, or why it failed or ended, in one paragraph. */
export function explain(input: WhyInput): Explanation {
  const last = input.events.findLast(({ reason }) => reason === DUPLICATE);
  const explanation = explainState(input);
  return last?.type === 'Warning' ? { ...explanation, notice: stop(joined('', last.message)) } : explanation;
}

function explainState(input: WhyInput): Explanation {
  const { work, status, now, events } = input;
  const { name } = work.ref;
  if (work.source === 'runtime' && work.work === 'sync') {
    const text = `${name} is known to the container runtime alone: no source of this node wants it (${work.reason}).`;
    return { state: 'ending', text, says: { type: WORK } };
  }
  const refused = explainRefusal(input);
  if (refused !== undefined) return refused;
  const containers = { name, spec: work.pod?.spec, status: status ?? {}, error: input.worker?.error, events, now };
  const hasEnded = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  if (input.isGone || work.work === 'kill' || work.pod?.metadata.deletionTimestamp !== undefined) {
    return explainRemoval(input, hasEnded ? explainEnd(containers) : undefined);
  }
  if (hasEnded) return explainEnd(containers);
  return explainStart(input) ?? explainContainers(containers);
}

function explainRefusal({ work: { work, ref, failure }, status, decision }: WhyInput): Explanation | undefined {
  if (work !== 'reject' && work !== 'evict') return undefined;
  const { reason = 'no reason is known', message = '' } = failure ?? {};
  const what = work === 'reject' ? 'was not admitted by the node' : 'was evicted';
  // A pod whose containers exit with 0 when they are stopped has not failed.
  const hasSucceeded = work === 'evict' && status?.phase === 'Succeeded';
  const how = hasSucceeded ? 'has ended well, every container exited with 0, but' : 'has failed:';
  const why = decision === undefined ? '' : ` ${whyThisPod(decision, ref.uid)}`;
  const text = `${ref.name} ${how} it ${what}: ${stop(joined(reason, message))}${why}`;
  return {
    state: hasSucceeded ? 'ended' : 'failed',
    text,
    says: { type: WORK, ...(message !== '' && { text: message }) },
  };
}

function explainRemoval({ work, isGone, status, worker, now }: WhyInput, end: Explanation | undefined): Explanation {
  const { ref, reason, pod, graceSeconds } = work;
  const why = work.work === 'kill' ? reason : 'its deletion was requested';
  const says = { type: WORK, ...(work.work === 'kill' && { text: reason }) };
  if (isGone) {
    const before = end === undefined ? '' : ` Before: ${end.text}`;
    return { state: 'ended', text: `${ref.name} is gone from this node: ${stop(why)}${before}`, says };
  }
  const running = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
    .filter(({ state }) => state?.running !== undefined)
    .map((one) => one.name);
  const grace = graceSeconds ?? pod?.spec.terminationGracePeriodSeconds ?? 30;
  const since = worker === undefined || now === undefined ? '' : ` since ${formatAge(now - Date.parse(worker.since))}`;
  const rest =
    running.length === 0
      ? 'its containers have ended, and what is left of it is being removed.'
      : `it waits for ${running.join(', ')} to end, at most its grace period of ${grace} s.`;
  const error = worker?.error === undefined ? '' : ` The last attempt failed: ${stop(joined('', worker.error))}`;
  return { state: 'ending', text: `${ref.name} is being removed${since} (${why}): ${rest}${error}`, says };
}

/** What keeps a pod from starting its containers; undefined: nothing does. */
function explainStart({ work, status, worker, volumes, events, nodeProblems }: WhyInput): Explanation | undefined {
  const { name } = work.ref;
  const [problem] = nodeProblems;
  const hasSandbox = status?.conditions?.some(({ type, status: is }) => type === SANDBOX && is === 'True') === true;
  if (problem !== undefined && !hasSandbox) {
    const text = `${name} waits until the node can run pods: ${stop(problem)}`;
    return { state: 'waiting', text, says: { type: problem.includes('network') ? NETWORK : RUNTIME } };
  }
  if (worker === undefined && !hasSandbox) {
    const text = `${name} waits for its worker ${work.worker}, which has not begun with it.`;
    return { state: 'waiting', text, says: { type: WORK } };
  }
  const missing = [...(volumes?.errors ?? []), ...(volumes?.awaits ?? []).map((what) => `It waits for ${what}`)];
  if (volumes?.ready === false && missing[0] !== undefined) {
    const text = `${name} waits for its volumes: ${missing.map(stop).join(' ')}`;
    return { state: 'waiting', text, says: { type: VOLUMES, text: missing[0].replace(/^It waits for /, '') } };
  }
  if (hasSandbox) return undefined;
  const event = events.findLast(({ reason }) => reason === 'FailedCreatePodSandBox');
  if (event !== undefined) {
    const text = `${name} waits for its sandbox, which could not be made: ${stop(joined('', event.message))} It is tried again.`;
    return { state: 'waiting', text, says: { type: EVENT, text: event.message } };
  }
  if (worker?.error === undefined) return undefined;
  const text = `${name} waits: its last sync failed and is tried again: ${stop(joined('', worker.error))}`;
  return { state: 'waiting', text, says: { type: WORKER, text: worker.error } };
}

/** The reason of the event about other pods with its name or UID; of the type Normal when there are none any more. */
const DUPLICATE = 'DuplicatePod';

/** The condition that its sandbox, and so its network, exists. */
const SANDBOX = 'PodReadyToStartContainers';
