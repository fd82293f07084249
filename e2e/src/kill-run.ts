import { performance } from 'node:perf_hooks';
import { type NodeMessage, type TestNode, poll } from '@kubus/harness';
import { Random } from '@kubus/ports';
import { nodeServices } from '@kubus/service-kit';
import { podCommands, runPhase } from './kill-phase.ts';
import { type PlannedKill, planKills } from './kill-plan.ts';
import { type KillPod, isRight, killPods } from './kill-pods.ts';
import {
  type ExpectedStarts,
  lostEnds,
  lostSandboxes,
  recordedPods,
  runsOf,
  startFaults,
  withEnds,
} from './start-account.ts';

/** The killed processes of separate services: every service (two instances of those that share the pods), NATS and the runtime. */
export const victims = [
  'config-sources-0',
  'sync-loop-0',
  'pod-workers-0',
  'pod-workers-1',
  'prober-0',
  'prober-1',
  'volume-manager-0',
  'cri-bridge-0',
  'cni-bridge-0',
  'nats-server',
  'containerd',
] as const;
/** The killed processes of a node whose services share one; that one oftener. */
export const hostedVictims = ['services', 'services', 'nats-server', 'containerd'] as const;
type Victim = (typeof victims)[number] | (typeof hostedVictims)[number];

/** The instances whose announcement shows that a process serves. NATS and containerd do not announce themselves. */
function instancesOf(victim: Victim): readonly string[] {
  if (victim === 'nats-server' || victim === 'containerd') return [];
  return victim === 'services' ? nodeServices.map((service) => `${service}-0`) : [victim];
}

/** The actions on the pods while processes are killed. */
export const phases = ['create', 'restart', 'delete'] as const;
type Phase = (typeof phases)[number];

/** A kill that has happened. */
export interface Kill {
  readonly phase: Phase;
  readonly victim: Victim;
  readonly pid: number;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
}

/** One seed of the kill test on one node: what was done, and its result. */
export class KillRun {
  readonly seed: number;
  readonly kills: Kill[] = [];
  /** How long after the last kill of each phase every service served and every pod was as it should be, in milliseconds. */
  readonly settledAfter = new Map<Phase, number>();
  readonly #node: TestNode;
  readonly #victims: readonly Victim[];
  readonly #random: Random;
  /** Containers that the test has ended, `<pod>/<container>`. */
  readonly #ended = new Set<string>();

  constructor(node: TestNode, seed: number, of: readonly Victim[] = victims) {
    this.#node = node;
    this.#victims = of;
    this.seed = seed;
    this.#random = new Random(seed).fork();
  }

  /** Creates every pod, ends some of their containers, deletes every pod, and kills processes meanwhile. */
  async run(): Promise<void> {
    const plan = planKills(this.seed, {
      ...{ phases, victims: this.#victims },
      afterCommands: Math.round((this.#victims.length * 3) / 4),
    });
    const node = this.#node;
    const create = this.#random.shuffled(killPods).map(
      ({ name, manifest }) =>
        () =>
          node.writeManifest(`${name}.json`, manifest),
    );
    await this.#phase('create', plan.get('create') ?? [], create);
    await this.#settle('create', killPods);
    const ends = this.#random
      .shuffled(killPods.filter(({ life }) => life === 'stays'))
      .map((pod) => () => this.#endContainer(pod, this.#random.pick(pod.containers)));
    await this.#phase('restart', plan.get('restart') ?? [], ends);
    await this.#settle('restart', killPods);
    const remove = this.#random.shuffled(killPods).map(
      ({ name }) =>
        () =>
          node.removeManifest(`${name}.json`),
    );
    await this.#phase('delete', plan.get('delete') ?? [], remove);
    await this.#settle('delete', []);
  }

  /** Wrong starts, by containerd's own event log. */
  async startFaults(): Promise<string[]> {
    const { events, name: node, watch } = this.#node;
    const pods = recordedPods(await watch.record());
    const runs = withEnds(runsOf(await events.runs()), pods);
    const containerdKills = this.kills.filter(({ victim }) => victim === 'containerd').map(({ at }) => at);
    const lost = lostEnds(runs, containerdKills);
    const sandboxes = lostSandboxes(runs, pods);
    const expected = (pod: string, container: string): ExpectedStarts | undefined => {
      const wanted = killPods.find(({ name }) => `${name}-${node}` === pod);
      if (wanted === undefined) return undefined;
      if (wanted.life === 'again') return { runs: undefined };
      // An init container whose end is not known has to run again.
      const again = container === 'init' ? lost.filter((run) => run.pod === pod && run.container === container) : [];
      const repeated = again.length + sandboxes.filter((run) => run.pod === pod).length;
      return { runs: this.#ended.has(`${wanted.name}/${container}`) ? 2 : 1, repeated };
    };
    return startFaults(runs, expected, sandboxes);
  }

  /** The last command for a pod before a kill, and how many milliseconds before. */
  commandBefore({ at }: Kill): { readonly message: NodeMessage; readonly ms: number } | undefined {
    const message = podCommands(this.#node).findLast((command) => command.at <= at);
    return message && { message, ms: at - message.at };
  }

  /** Does the phase's actions, and kills processes meanwhile. */
  #phase(
    phase: Phase,
    kills: readonly PlannedKill<Victim>[],
    actions: readonly (() => Promise<void>)[],
  ): Promise<void> {
    const kill = async (victim: Victim) => {
      const { pid } = await this.#node.kill(victim);
      this.kills.push({ phase, victim, pid, at: performance.timeOrigin + performance.now() });
    };
    return runPhase({ node: this.#node, kills, actions, kill });
  }

  /** Ends a container without the node's doing, like a crash of its program. */
  async #endContainer({ name }: KillPod, container: string): Promise<void> {
    // containerd may just have been killed. It never reports what ends while it recovers, and lists it as running for
    // ever (1.6).
    await poll('containerd', () => this.#node.cri('Version', {}).catch(() => undefined));
    await this.#node.events.settled();
    const [view] = this.#node.watch.podsNamed(name);
    const run = view?.runtime?.containers.find((one) => one.name === container && one.state === 'running');
    if (run === undefined)
      throw new Error(`container ${container} of ${name} is not running:\n${this.#node.watch.describe()}`);
    this.#ended.add(`${name}/${container}`);
    await this.#node.ctr('tasks', 'kill', '--signal', 'SIGKILL', run.id);
  }

  async #settle(phase: Phase, pods: readonly KillPod[]): Promise<void> {
    const { watch, events } = this.#node;
    const last = this.kills.at(-1)?.at ?? 0;
    await events.settled();
    await watch.until(`every pod as it should be after ${phase}, seed ${this.seed}`, () => {
      if (!watch.connected || !this.#victims.every((victim) => this.#isBack(victim))) return undefined;
      if (watch.pods.length !== pods.length) return undefined;
      return pods.every((pod) => this.#isRight(pod)) ? true : undefined;
    });
    this.settledAfter.set(phase, performance.timeOrigin + performance.now() - last);
  }

  #isRight(pod: KillPod): boolean {
    const [view, ...others] = this.#node.watch.podsNamed(pod.name);
    const ended = (container: string) => (this.#ended.has(`${pod.name}/${container}`) ? 1 : 0);
    return view !== undefined && others.length === 0 && isRight(pod, view, ended);
  }

  /** Whether a process that was not killed has announced itself. */
  #isBack(victim: Victim): boolean {
    return instancesOf(victim).every((instance) => {
      const pid = this.#node.watch.instance(instance)?.pid;
      return pid !== undefined && !this.kills.some((kill) => kill.pid === pid);
    });
  }
}
