import { CONFIG_MIRROR, podStatusReportSchema } from '@kubus/contracts';
import { type JsonObject, type KubeObject, asList, asObject, asText } from '@kubus/kube-objects';
import { isTerminal } from '@kubus/pod-status';
import type { Random } from '@kubus/ports';
import type { Violation } from './invariants.ts';
import { type PodPlan, manifestOf } from './pod-plan.ts';
import type { SimulatedApi } from './simulated-api.ts';
import type { SimulatedNode } from './simulated-node.ts';
import { NODE, type Placement, clusterServices } from './simulated-process.ts';

/** How many schedules have a node with an API server. */
const OFTEN = 0.25;
/** How many of their pods are made by users of it. */
const BY_USERS = 0.5;
/** How often a service that only a node with an API server has ends with a step of the schedule. */
const ENDS = 0.2;

/** Whether a schedule has such a node. @param isWanted undefined: drawn. */
export function drawsCluster(random: Random, isWanted: boolean | undefined): boolean {
  return isWanted ?? random.chance(OFTEN);
}

/** The services of such a node share the process of the first group, or each has its own. */
export function placedWith(placement: Placement, random: Random): Placement {
  const [first, ...more] = placement;
  return first === undefined || random.chance(0.5) ? placement : [[...first, ...clusterServices], ...more];
}

/** The part of a schedule that is about the API server: its users, its end at any step, and what must be true of its objects. */
export class ClusterPart {
  readonly #node: SimulatedNode;
  readonly #api: SimulatedApi;
  readonly #random: Random;
  /** UIDs of the pods that users have made. */
  readonly #made = new Set<string>();

  constructor(node: SimulatedNode, api: SimulatedApi, random: Random) {
    this.#node = node;
    this.#api = api;
    this.#random = random;
  }

  /** A user creates the pod; false: it is to be one of the folder. */
  add(plan: PodPlan): boolean {
    if (!this.#random.chance(BY_USERS)) return false;
    const { metadata, spec } = JSON.parse(manifestOf(plan)) as { metadata: { name: string }; spec: JsonObject };
    const { name } = metadata;
    this.#made.add(plan.uid);
    this.#api.create(
      { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { ...spec, nodeName: NODE } },
      plan.uid,
    );
    return true;
  }

  /** Whether a user has made the pod. */
  has({ uid }: PodPlan): boolean {
    return this.#made.has(uid);
  }

  /** A user deletes the pod. */
  remove(plan: PodPlan): void {
    this.#api.delete(plan.name);
  }

  begin(): void {
    const random = this.#random;
    this.#api.trouble = { slowMs: random.pick([1, 20, 500]), ends: random.pick([0, 0.05, 0.3]) };
  }

  /** With a step of the schedule. Returns the instance that ends, if one does. */
  act(): string | undefined {
    return this.#random.chance(ENDS) ? `${this.#random.pick(clusterServices)}-0` : undefined;
  }

  repair(): void {
    this.#api.trouble = { slowMs: 1, ends: 0 };
    this.#api.start();
  }

  /** What must have been true at every moment. `bridgeKilled`: what a crash of cri-bridge has left is found and ended later. */
  violations(bridgeKilled: boolean): Violation[] {
    const phases = new Map<string, string>();
    const violations: Violation[] = [];
    for (const { resource, object } of this.#api.changes) {
      if (resource !== 'pods') continue;
      const { uid, name } = object.metadata;
      const phase = asText(asObject(object['status'])['phase']);
      const before = phases.get(uid);
      phases.set(uid, phase);
      if (before === undefined || before === phase || !isTerminal(before)) continue;
      violations.push({ rule: 'a final phase never changes', detail: `${name}: ${phase} after ${before}` });
    }
    return bridgeKilled ? violations : [...violations, ...this.#removedTooEarly()];
  }

  /** What must be true when the node has become idle. `refused`: UIDs of pods that were rejected or evicted; a static one of these needs no mirror. */
  checkEnd(wanted: readonly PodPlan[], refused: ReadonlySet<string>): Violation[] {
    const violations: Violation[] = [];
    const fail = (rule: string, detail: string) => violations.push({ rule, detail });
    const { pods } = this.#api;
    const expected = new Map(wanted.map((plan) => [this.has(plan) ? plan.name : `${plan.name}-${NODE}`, plan]));
    for (const [name, pod] of pods) {
      if (!expected.has(name)) fail('the API has no pod that nobody wants', `${name} ${pod.metadata.uid}`);
    }
    for (const [name, plan] of expected) {
      const pod = pods.get(name);
      const isOwn =
        pod !== undefined &&
        (this.has(plan) ? pod.metadata.uid : pod.metadata.annotations?.[CONFIG_MIRROR]) === plan.uid;
      if (isOwn) this.#checkStatus(pod, plan, fail);
      else if (this.has(plan) || !refused.has(plan.uid))
        fail('the API has every wanted pod, static ones as mirrors', name);
    }
    return violations;
  }

  #checkStatus(pod: KubeObject, plan: PodPlan, fail: (rule: string, detail: string) => void): void {
    const published = this.#node.broker.stored(`worker.fact.status.${plan.uid}`)?.data ?? '';
    if (published === '') return;
    const { status } = podStatusReportSchema.parse(JSON.parse(published));
    const [shown, known] = [outlineOf(asObject(pod['status'])), outlineOf(status)];
    if (shown !== known) fail('the API has the status of the node', `${plan.name}: ${shown}, the node: ${known}`);
  }

  /** A pod that a user has deleted is in the API until nothing of it runs. */
  #removedTooEarly(): Violation[] {
    return [...this.#api.removedAt].flatMap(([uid, at]) =>
      this.#node.runtime.deeds
        .filter((deed) => deed.uid === uid && deed.at > at && ['start', 'exit'].includes(deed.what))
        .map(({ what, name }) => ({
          rule: 'a pod is in the API until nothing of it runs',
          detail: `${uid}: ${what} of ${name} after its removal`,
        })),
    );
  }
}

/** What of a status has to be equal on the node and in the API. */
function outlineOf(status: JsonObject): string {
  const containers = ['initContainerStatuses', 'containerStatuses'].flatMap((list) =>
    asList(status[list]).map(asObject),
  );
  const states = containers.map(({ name, containerID, ready, restartCount, state }) =>
    [name, containerID, ready, restartCount, ...Object.keys(asObject(state))].map(String).join(' '),
  );
  return [asText(status['phase']), ...states].join('; ');
}
