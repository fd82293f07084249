import { ownerOf } from '@kubus/admission';
import { HEADER } from '@kubus/bus';
import { podStatusReportSchema, serviceShareSchema } from '@kubus/contracts';
import { type PodPlan, ends, isSidecar, startsOf } from './pod-plan.ts';
import type { ModelContainer, RuntimeDeed } from './runtime-things.ts';
import type { SimulatedNode } from './simulated-node.ts';
import { isMounted } from './simulated-volumes.ts';

/** A violation: a state that must never occur, or one that must be reached in the end and is not. */
export interface Violation {
  readonly rule: string;
  readonly detail: string;
}

/** Rules over the whole history of the runtime. */
export function checkDeeds(deeds: readonly RuntimeDeed[]): Violation[] {
  const violations: Violation[] = [];
  const count = new Map<string, number>();
  /** Last start of each container name of a pod that has not ended. */
  const running = new Map<string, RuntimeDeed>();
  for (const deed of deeds) {
    const { what, uid, name, attempt, id } = deed;
    const key = `${what} ${uid} ${name} ${attempt}`;
    count.set(key, (count.get(key) ?? 0) + 1);
    if (what !== 'exit' && what !== 'remove' && (count.get(key) ?? 0) > 1) {
      violations.push({ rule: `${what} happens once per attempt`, detail: `${uid} ${name} attempt ${attempt}` });
    }
    const slot = `${uid} ${name}`;
    if (what === 'start') {
      const other = running.get(slot);
      if (other !== undefined) {
        violations.push({ rule: 'a container never runs twice at a time', detail: `${slot}: ${other.id} and ${id}` });
      }
      running.set(slot, deed);
    }
    if (what === 'exit' && running.get(slot)?.id === id) running.delete(slot);
  }
  return [...violations, ...checkAttempts(deeds), ...checkRestarts(deeds)];
}

/** Attempts of a container or sandbox are numbered without gaps. */
function checkAttempts(deeds: readonly RuntimeDeed[]): Violation[] {
  const violations: Violation[] = [];
  const last = new Map<string, number>();
  for (const { what, uid, name, attempt } of deeds) {
    if (what !== 'sandbox' && what !== 'create') continue;
    const key = `${what} ${uid} ${name}`;
    const before = last.get(key) ?? -1;
    if (attempt > before + 1) {
      violations.push({ rule: 'attempts have no gaps', detail: `${key}: ${attempt} after ${before}` });
    }
    last.set(key, Math.max(before, attempt));
  }
  return violations;
}

/** A container that never ends by itself is not restarted: no failure of a service causes a restart. */
function checkRestarts(deeds: readonly RuntimeDeed[]): Violation[] {
  const starts = new Map<string, number>();
  for (const { what, uid, name } of deeds) {
    const key = `${uid} ${name}`;
    if (what === 'start') starts.set(key, (starts.get(key) ?? 0) + 1);
  }
  return [...starts].flatMap(([key, count]) => {
    const most = startsOf(key.split(' ')[1] ?? '');
    if (most === undefined || count <= most) return [];
    return [{ rule: 'a running container is not restarted', detail: `${key} was started ${count} times` }];
  });
}

/** No init container is skipped or repeated, and no container starts before the sidecars that it needs have started. */
export function checkOrder(node: SimulatedNode, plans: ReadonlyMap<string, PodPlan>): Violation[] {
  const violations: Violation[] = [];
  /** Init containers that have completed, as `<uid> <name>`. */
  const done = new Set<string>();
  /** Running sidecars that have not passed their startup probe: the same key, and the ID of their run. */
  const starting = new Map<string, string>();
  for (const { what, uid, name, id, at, own, exitCode } of node.runtime.deeds) {
    const inits = plans.get(uid)?.inits ?? [];
    const key = `${uid} ${name}`;
    if (what === 'exit' && own === true && exitCode === 0 && !isSidecar(name)) done.add(key);
    if (what !== 'start') continue;
    const position = inits.indexOf(name);
    for (const before of position === -1 ? inits : inits.slice(0, position)) {
      const startup = node.startups.get(starting.get(`${uid} ${before}`) ?? '');
      const started = startup !== undefined && startup <= at;
      if (!done.has(`${uid} ${before}`) && !started) {
        violations.push({ rule: 'no init container is skipped', detail: `${key} started before ${before} was done` });
      }
    }
    if (position !== -1 && done.has(key) && !isSidecar(name)) {
      violations.push({ rule: 'a completed init container is not run again', detail: key });
    }
    if (name.startsWith('u')) starting.set(key, id);
    else if (isSidecar(name)) done.add(key);
  }
  return violations;
}

/** No two pods of the runtime share IDs of the host, and a pod keeps its allocated IDs. */
export function checkIds({ runtime }: SimulatedNode): Violation[] {
  return runtime.idFaults.map((detail) => ({ rule: 'user namespaces do not overlap', detail }));
}

/** Containers are created only while their pod's volume exists, which is removed when no container of the pod can use it. */
export function checkVolumes(node: SimulatedNode, plans: ReadonlyMap<string, PodPlan>): Violation[] {
  const violations: Violation[] = [];
  for (const { what, uid, name, at } of node.runtime.deeds) {
    if (what !== 'create' || plans.get(uid)?.volume !== true) continue;
    const { times = [] } = node.mounts.get(uid) ?? {};
    if (!times.some(({ from, to = at }) => from <= at && at <= to)) {
      violations.push({ rule: 'a container is created only when its volume exists', detail: `${uid} ${name}` });
    }
  }
  return violations;
}

/**
 * When a worker has finished a pod, no container or sandbox of it appears any more: its fence has waited for all commands in
 * flight. Holds within one life of cri-bridge; what its crash leaves at the runtime is found and ended later.
 */
export function checkFinished(deeds: readonly RuntimeDeed[], finished: ReadonlyMap<string, number>): Violation[] {
  return deeds.flatMap(({ what, uid, name, at }) => {
    const end = finished.get(uid);
    if (end === undefined || at <= end || what === 'exit' || what === 'remove') return [];
    return [{ rule: 'a finished pod gets no new objects', detail: `${what} ${uid} ${name} ${at - end} ms later` }];
  });
}

/** What must be true when a node has become idle. `rejected`, `evicted`: UIDs of the pods that it rejected and evicted. */
export function checkEnd(
  node: SimulatedNode,
  wanted: readonly PodPlan[],
  { rejected, evicted }: { readonly rejected: ReadonlySet<string>; readonly evicted: ReadonlySet<string> },
): Violation[] {
  const violations: Violation[] = [];
  const fail = (rule: string, detail: string) => violations.push({ rule, detail });
  const uids = new Set(wanted.map(({ uid }) => uid));
  for (const uid of node.runtime.uids) if (!uids.has(uid)) fail('an undesired pod is removed', uid);
  for (const pod of wanted) {
    if (evicted.has(pod.uid)) checkEvicted(node, pod, fail);
    else if (!rejected.has(pod.uid)) checkPod(node, pod, fail);
  }
  const live = new Map([...uids].flatMap((uid) => node.runtime.pod(uid).sandboxes.map((one) => [one.id, one.ready])));
  for (const [id, address] of node.plugins.leases) {
    if (live.get(id) !== true) fail('no address without a running sandbox', `${address} of ${id.slice(-8)}`);
  }
  for (const key of node.disk.keys('cni-bridge')) {
    if (live.get(key.split(':')[0] ?? '') !== true) fail('no journal entry without a running sandbox', key.slice(-12));
  }
  for (const uid of node.mounts.keys()) {
    if (isMounted(node.mounts, uid) && !uids.has(uid)) fail('no volume of a removed pod', uid);
  }
  checkWorkers(node, uids, fail);
  for (const service of ['pod-workers', 'sync-loop']) {
    for (const uid of node.disk.keys(service))
      if (!uids.has(uid)) fail('no record of a removed pod', `${uid} of ${service}`);
  }
  return violations;
}

/** The facts of each pod are published by the worker that owns it, and there are none of other pods. */
function checkWorkers(
  node: SimulatedNode,
  wanted: ReadonlySet<string>,
  fail: (rule: string, detail: string) => void,
): void {
  const share = node.broker.stored('node.fact.share.pod-workers')?.data;
  if (share === undefined) return;
  const { instances } = serviceShareSchema.parse(JSON.parse(share));
  const speaker = (key: string) => {
    const { [HEADER.source]: source, [HEADER.removed]: removed } = node.broker.stored(key)?.headers ?? {};
    return removed === undefined ? source : undefined;
  };
  for (const uid of wanted) {
    for (const key of [`worker.fact.state.${uid}`, `worker.fact.status.${uid}`]) {
      const [owner, source] = [ownerOf(uid, instances), speaker(key)];
      if (source !== owner) fail('a pod is published by its worker', `${key} by ${source ?? 'nobody'} for ${owner}`);
    }
  }
  for (const key of node.broker.keys) {
    const [, uid = ''] = /^worker\.fact\.(?:state|status)\.([^.]+)$/.exec(key) ?? [];
    const source = speaker(key);
    // An instance that was killed for good cannot remove its facts.
    if (uid === '' || wanted.has(uid) || source === undefined || !node.alive(source)) continue;
    fail('nothing is published about a removed pod', `${key} by ${source}`);
  }
}

function newestOf(containers: readonly ModelContainer[], name: string): ModelContainer | undefined {
  const attempt = ({ config }: ModelContainer) => config.metadata?.attempt ?? 0;
  return containers
    .filter(({ config }) => config.metadata?.name === name)
    .toSorted((a, b) => attempt(b) - attempt(a))[0];
}

/** Nothing of it runs, and its worker says why. */
function checkEvicted(node: SimulatedNode, { uid, main }: PodPlan, fail: (rule: string, detail: string) => void): void {
  const { sandboxes, containers } = node.runtime.pod(uid);
  const running = containers
    .filter(({ state }) => state === 'CONTAINER_RUNNING')
    .map(({ config }) => config.metadata?.name);
  if (running.length > 0) fail('nothing of an evicted pod runs', `${uid}: ${running.join(', ')}`);
  if (sandboxes.some(({ ready }) => ready)) fail('nothing of an evicted pod runs', `${uid}: its sandbox`);
  const published = node.broker.stored(`worker.fact.status.${uid}`)?.data ?? '';
  const { phase, reason } = published === '' ? {} : podStatusReportSchema.parse(JSON.parse(published)).status;
  // As with the reference, a pod whose containers exit with 0 has succeeded, also when they do so because it is evicted.
  const succeeded = phase === 'Succeeded' && newestOf(containers, main)?.exitCode === 0;
  if (!succeeded && (phase !== 'Failed' || !['Evicted', 'Preempting'].includes(reason ?? ''))) {
    fail('an evicted pod has failed', `${uid}: ${phase ?? 'no phase'} ${reason ?? 'without a reason'}`);
  }
}

function checkPod(node: SimulatedNode, pod: PodPlan, fail: (rule: string, detail: string) => void): void {
  const { sandboxes, containers } = node.runtime.pod(pod.uid);
  const ready = sandboxes.filter((one) => one.ready);
  const newest = (name: string) => newestOf(containers, name);
  const main = newest(pod.main);
  if (main === undefined) {
    fail('every wanted container was started', `${pod.name} ${pod.uid}`);
    return;
  }
  const sidecars = pod.inits.filter(isSidecar).map((name) => ({ name, state: newest(name)?.state }));
  if (ends(pod)) {
    if (main.state !== 'CONTAINER_EXITED') fail('a pod that should end has ended', `${pod.name}: ${main.state}`);
    if (ready.length > 0) fail('a pod that has ended has no running sandbox', pod.name);
    for (const { name, state } of sidecars) {
      if (state === 'CONTAINER_RUNNING') fail('no sidecar keeps a completed pod running', `${pod.name}: ${name}`);
    }
    return;
  }
  if (ready.length !== 1) fail('a running pod has one running sandbox', `${pod.name}: ${ready.length}`);
  const runs = startsOf(pod.main) === undefined ? sidecars : [...sidecars, { name: pod.main, state: main.state }];
  for (const { name, state } of runs) {
    if (state !== 'CONTAINER_RUNNING')
      fail('every container that should run is running', `${pod.name} ${name}: ${state ?? 'missing'}`);
  }
}
