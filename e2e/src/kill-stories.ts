import { performance } from 'node:perf_hooks';
import { type TestNode, isReady } from '@kubus/harness';
import { runPhase } from './kill-phase.ts';
import { type PlannedKill, planKills } from './kill-plan.ts';
import type { NamedPod } from './many-pods.ts';

/** Limit of hanging waits in milliseconds. */
export const STORIES_MS = 300_000;

export interface KillStories {
  readonly node: TestNode;
  readonly seed: number;
  /** What is killed once while the pods are created, and once while they are deleted. */
  readonly victims: readonly string[];
  /** How many of these kills come shortly after a command for a pod. */
  readonly afterCommands: number;
  readonly pods: readonly NamedPod[];
  readonly create: (pod: NamedPod) => Promise<unknown>;
  readonly remove: (pod: NamedPod) => Promise<unknown>;
}

/** From when until when NATS was away, milliseconds since the Unix epoch. */
export interface Outage {
  readonly from: number;
  readonly to: number;
}

/** These do not announce themselves. */
const silent: readonly string[] = ['nats-server', 'containerd'];

/** Creates all pods and deletes them again, and kills processes meanwhile. Returns when NATS was away. */
export async function killStories({ node, seed, victims, pods, ...how }: KillStories): Promise<Outage[]> {
  const { watch } = node;
  const plan = planKills(seed, { phases: ['create', 'delete'], victims, afterCommands: how.afterCommands });
  const killed = new Set<number>();
  const outages: Promise<Outage>[] = [];
  const made: NamedPod[] = [];
  const isRight = ({ name, ends }: NamedPod) => {
    const [view] = watch.podsNamed(name);
    return view !== undefined && (ends ? view.status?.phase === 'Succeeded' : isReady(view));
  };
  const settled = (what: string, right: () => boolean) =>
    watch.until(what, () => (right() ? true : undefined), STORIES_MS);
  const kill = async (victim: string) => {
    // containerd never reports what ends while it recovers, and lists it as running for ever (1.6).
    const brief = made.filter(({ isBrief }) => isBrief);
    if (victim === 'containerd')
      await settled('every container that ends by itself has ended', () => brief.every(isRight));
    const from = now();
    killed.add((await node.kill(victim)).pid);
    if (victim === 'nats-server') outages.push(untilHeard(node).then((to) => ({ from, to })));
  };
  const phase = (kills: readonly PlannedKill<string>[] = [], actions: readonly (() => Promise<void>)[]) =>
    runPhase({ node, kills, actions, kill });
  const isBack = (victim: string) => {
    const pid = watch.instance(victim)?.pid;
    return silent.includes(victim) || (pid !== undefined && !killed.has(pid));
  };
  const allServe = () => watch.connected && victims.every(isBack);

  const create = pods.map((pod) => async () => {
    await how.create(pod);
    made.push(pod);
  });
  await phase(plan.get('create'), create);
  await settled('every pod runs or has ended', () => allServe() && pods.every(isRight));
  const remove = pods.map((pod) => async () => {
    made.splice(made.indexOf(pod), 1);
    await how.remove(pod);
  });
  await phase(plan.get('delete'), remove);
  await settled('no pod is left', () => allServe() && watch.pods.length === 0);
  return Promise.all(outages);
}

/** Resolves when NATS was away and answers again, with that moment. */
async function untilHeard({ watch }: TestNode): Promise<number> {
  await watch.until('NATS is away', () => (watch.connected ? undefined : true), STORIES_MS);
  await watch.until('NATS is back', () => (watch.connected ? true : undefined), STORIES_MS);
  return now();
}

function now(): number {
  return performance.timeOrigin + performance.now();
}
