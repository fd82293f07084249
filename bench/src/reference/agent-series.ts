import { setTimeout as wait } from 'node:timers/promises';
import { ClusterPods } from '../cluster-pods.ts';
import { type PerProcess, cpuOf, difference, memoryOf, scaled } from '../process-usage.ts';
import { type OneAtATime, type Subject, allAtOnce, oneAtATime, podNames } from '../subject.ts';
import type { Agent } from './agents.ts';
import type { ControlPlane } from './control-plane.ts';

export interface SeriesSizes {
  readonly runs: number;
  /** Pods one at a time. */
  readonly single: number;
  /** Pods at once, few and many. */
  readonly burst: number;
  readonly full: number;
  /** Seconds for which the full node is observed. */
  readonly idle: number;
}

/** Pods at once: milliseconds until the last one was Ready, and removed, and the agent's CPU in milliseconds a pod. */
interface Burst {
  readonly created: number;
  readonly removed: number;
  readonly cpuStart: PerProcess;
  readonly cpuEnd: PerProcess;
}

/** One run of all series. */
export interface AgentRun {
  readonly single: OneAtATime;
  /** The agent's CPU for each pod started and ended one at a time, in milliseconds. */
  readonly singleCpu: PerProcess;
  readonly singleWithVolumes: OneAtATime;
  readonly burst: Burst;
  readonly full: Burst;
  readonly fullWithVolumes: Burst;
  /** With the full node, in MiB. */
  readonly memory: PerProcess;
  /** With the full node, in percent of a core. */
  readonly idle: PerProcess;
}

/** Wait before memory and idle CPU are measured, in milliseconds, so that the pods' start does not count. */
const SETTLE_MS = 10_000;

/** Measures an agent through the API server. */
export async function measureAgent(
  plane: ControlPlane,
  agent: Agent,
  sizes: SeriesSizes,
  say: (text: string) => void,
): Promise<AgentRun[]> {
  const pods = await ClusterPods.of(plane.api, agent.node);
  const runs: AgentRun[] = [];
  try {
    await oneAtATime(pods.withVolumes, podNames('warm', 1));
    for (let run = 1; run <= sizes.runs; run += 1) {
      say(`run ${run} of ${sizes.runs}`);
      runs.push(await measureRun(pods, agent, sizes));
    }
    return runs;
  } finally {
    pods.close();
  }
}

async function measureRun(pods: ClusterPods, agent: Agent, sizes: SeriesSizes): Promise<AgentRun> {
  const before = await cpuOf(await agent.processes());
  const single = await oneAtATime(pods.plain, podNames('one', sizes.single));
  const singleCpu = scaled(difference(await cpuOf(await agent.processes()), before), 1 / sizes.single);
  const singleWithVolumes = await oneAtATime(pods.withVolumes, podNames('volumes', sizes.single));
  const burst = await atOnce(agent, pods.plain, podNames('burst', sizes.burst));
  const full = await atOnce(agent, pods.plain, podNames('full', sizes.full));
  const rest: { memory: PerProcess; idle: PerProcess } = { memory: {}, idle: {} };
  const fullWithVolumes = await atOnce(agent, pods.withVolumes, podNames('many', sizes.full), async () => {
    await wait(SETTLE_MS);
    const processes = await agent.processes();
    rest.memory = await memoryOf(processes);
    const start = await cpuOf(processes);
    await wait(sizes.idle * 1_000);
    rest.idle = scaled(difference(await cpuOf(processes), start), 1 / (sizes.idle * 10));
  });
  return { single, singleCpu, singleWithVolumes, burst, full, fullWithVolumes, ...rest };
}

/** @param meanwhile what is done while all pods run */
async function atOnce(
  agent: Agent,
  subject: Subject,
  names: readonly string[],
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<Burst> {
  const cpu = async () => cpuOf(await agent.processes());
  const perPod = (later: PerProcess, earlier: PerProcess) => scaled(difference(later, earlier), 1 / names.length);
  const start = await cpu();
  const created = await allAtOnce(names, (name) => subject.create(name));
  const cpuStart = perPod(await cpu(), start);
  await meanwhile();
  const end = await cpu();
  const removed = await allAtOnce(names, (name) => subject.remove(name));
  return { created, removed, cpuStart, cpuEnd: perPod(await cpu(), end) };
}
