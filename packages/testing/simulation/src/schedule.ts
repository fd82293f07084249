import { keyOf } from '@kubus/contracts';
import { Random } from '@kubus/ports';
import { AdmissionWatch } from './admission-watch.ts';
import { ClusterPart, drawsCluster, placedWith } from './cluster-part.ts';
import { DeliveryWatch } from './delivery-watch.ts';
import { describeMessage } from './describe-message.ts';
import { EvictionWatch } from './eviction-watch.ts';
import { ExclusiveWatch } from './exclusive-watch.ts';
import { calm } from './memory-broker.ts';
import { describePlacement, drawPlacement } from './placement.ts';
import { type PodPlan, behaviourOf, manifestOf, planPod } from './pod-plan.ts';
import { ReadinessWatch } from './readiness-watch.ts';
import { withResources } from './resource-plan.ts';
import type { ScheduleOptions, ScheduleResult } from './schedule-options.ts';
import type { Scheduler } from './scheduler.ts';
import { SimulatedApi } from './simulated-api.ts';
import { type ThingsPolicy, drawThings, wholeLevel } from './simulated-machine.ts';
import { drawStorm } from './storm.ts';
import { MAX_WORKERS, SimulatedNode } from './simulated-node.ts';
import { type SimulatedService, clusterServices, simulatedServices } from './simulated-process.ts';
import {
  type Violation,
  checkDeeds,
  checkEnd,
  checkFinished,
  checkIds,
  checkOrder,
  checkVolumes,
} from './invariants.ts';

/** How long a node may take to become idle once everything works again, in virtual milliseconds. */
const SETTLE_MS = 900_000;
const CALM_MS = 60_000;

/** How often an eviction is followed by a crash: between ranking, mark and kill. */
const EVICTION_AMBUSHED = 0.5;

/** With these messages CPUs, memory and devices are requested or free again, and so often a crash follows. */
const THINGS_CHANGE = /\.device\.cmd\.allocate\.|\.worker\.fact\.state\./;
const THINGS_AMBUSHED = 0.15;

/**
 * Runs one seeded schedule: a node gets, changes and loses pods while messages are lost, delayed, duplicated and overtaken, and
 * services and the message store crash between any two steps. Then everything works again, and the node has to reach
 * exactly the state of its manifests.
 */
export async function runSchedule(options: ScheduleOptions): Promise<ScheduleResult> {
  const run = new Schedule(options);
  return run.run();
}

class Schedule {
  readonly #options: ScheduleOptions;
  readonly #random: Random;
  readonly #node: SimulatedNode;
  readonly #wanted = new Map<string, PodPlan>();
  /** Every pod that was ever desired, by its UID. */
  readonly #all = new Map<string, PodPlan>();
  readonly #readiness = new ReadinessWatch();
  readonly #admission = new AdmissionWatch();
  readonly #delivery = new DeliveryWatch();
  readonly #eviction: EvictionWatch;
  /** Undefined: no container gets anything for itself. */
  #exclusive: ExclusiveWatch | undefined;
  /** Undefined: the node has no API server. */
  readonly #cluster: ClusterPart | undefined;
  /** What schedules draw that depends on more than the order of events. */
  readonly #apart: Random;
  readonly #trace: string[] = [];
  #pods = 0;
  #bridgeKilled = false;
  /** The desired number of instances of pod-workers. */
  #workers = 1;
  #repaired = false;

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
    // Services with journals do not deliver directly. Drawn apart: the same seed gives the same events on every placement.
    this.#apart = new Random(~options.seed);
    const isJournaled = options.journaled !== undefined;
    const drawn = isJournaled ? [] : drawPlacement(this.#apart);
    const things = isJournaled ? undefined : drawThings(this.#apart, options.exclusive);
    const inCluster = !isJournaled && drawsCluster(this.#apart, options.cluster);
    const placement = inCluster ? placedWith(options.placement ?? drawn, this.#apart) : (options.placement ?? drawn);
    let api: SimulatedApi | undefined;
    const makeApi = (scheduler: Scheduler) => {
      const ended = () => this.#note('kill the API server');
      api = new SimulatedApi({ scheduler, random: this.#apart.fork(), mutations: options.mutations ?? {}, ended });
      return api;
    };
    this.#node = new SimulatedNode({
      ...(inCluster && { makeApi }),
      random: this.#random.fork(),
      logger: options.logger,
      behaviour: behaviourOf,
      maxPods: this.#random.chance(0.3) ? 2 : 1_000,
      ...(options.mutations !== undefined && { mutations: options.mutations }),
      ...(options.journaled !== undefined && { journaled: options.journaled }),
      ...{ placement, things },
      observe: (transport, instance) => this.#delivery.wrap(transport, instance),
    });
    this.#cluster = api && new ClusterPart(this.#node, api, this.#apart.fork());
    this.#eviction = new EvictionWatch(this.#node.memory, (text) => this.#note(text));
    this.#node.disk.observe((folder, uid, record) => {
      if (folder === 'sync-loop') this.#eviction.written(uid, record, this.#node.scheduler.now());
    });
    if (things !== undefined) this.#watchThings(things);
    this.#note(`placement: ${describePlacement(placement)}`);
    this.#node.broker.observe((message) => this.#readiness.observe(message));
    this.#node.broker.observe((message) => this.#admission.observe(message));
    if (options.record !== undefined) this.#node.broker.observe(options.record);
    if (options.traceMessages === true) this.#node.broker.observe((message) => this.#note(describeMessage(message)));
  }

  async run(): Promise<ScheduleResult> {
    const { scheduler } = this.#node;
    this.#workers = this.#random.pick([1, 1, 2, 3]);
    for (const service of this.#random.shuffled(simulatedServices)) this.#startAll(service);
    if (this.#cluster !== undefined) for (const service of clusterServices) this.#startAll(service);
    this.#node.share(this.#workerNames);
    await this.#trouble();
    this.#repair();
    await scheduler.run(() => this.#atRest(), SETTLE_MS);
    const { deeds } = this.#node.runtime;
    const violations = [
      ...checkDeeds(deeds),
      ...checkOrder(this.#node, this.#all),
      ...checkIds(this.#node),
      ...checkVolumes(this.#node, this.#all),
      ...this.#readiness.violations,
      ...this.#admission.violations(deeds),
      ...this.#delivery.violations,
      ...this.#eviction.violations,
      ...(this.#exclusive?.violations ?? []),
      ...(this.#cluster?.violations(this.#bridgeKilled) ?? []),
      ...(this.#bridgeKilled ? [] : checkFinished(deeds, this.#node.finished)),
      ...this.#checkEnd(),
    ];
    return {
      seed: this.#options.seed,
      violations,
      steps: scheduler.steps,
      elapsedMs: scheduler.elapsed(),
      trace: this.#trace,
    };
  }

  /** A period of faults. */
  async #trouble(): Promise<void> {
    const { scheduler, broker } = this.#node;
    broker.weather = drawStorm(this.#random.fork(), this.#options.rough === true);
    this.#node.runtime.trouble = { lostEvent: this.#random.pick([0, 0.2]), failedCreate: this.#random.pick([0, 0.1]) };
    this.#node.plugins.trouble = { failed: this.#random.pick([0, 0.1]) };
    this.#ambush();
    this.#cluster?.begin();
    const actions = 4 + this.#random.below(8);
    for (let i = 0; i < actions; i++) {
      this.#act();
      const ends = this.#cluster?.act();
      if (ends !== undefined) this.#kill(ends);
      // Mostly within the few hundred milliseconds in which a pod starts or stops, sometimes much later.
      const pause = this.#random.chance(0.8) ? this.#random.between(0, 200) : this.#random.between(200, 15_000);
      await scheduler.run(() => false, pause);
    }
  }

  /** Some commands for a pod are immediately followed by a crash, and some of these by the pod's removal. */
  #ambush(): void {
    const random = this.#random.fork();
    const chance = this.#options.rough === true ? 0.3 : random.pick([0, 0.1, 0.3]);
    this.#node.broker.observe(({ subject }) => {
      const isEviction = subject.includes('.sync.cmd.evict.');
      if (this.#repaired || !(isEviction || subject.includes('.runtime.cmd.'))) return;
      if (!random.chance(isEviction ? EVICTION_AMBUSHED : chance)) return;
      this.#strike(random, keyOf(subject), { withinMs: 60, victim: () => this.#victim(random) });
    });
  }

  /** Between what is written, replied and created: mostly the process that keeps the ledger ends. */
  #watchThings(policy: ThingsPolicy): void {
    const { broker, disk, runtime, scheduler } = this.#node;
    const { topology, scope } = policy;
    const [plans, level] = [this.#all, wholeLevel(policy)];
    this.#exclusive = new ExclusiveWatch({ disk, runtime, plans, level, now: () => scheduler.elapsed() });
    this.#note(`things of containers' own: topology ${topology} by ${scope}`);
    const random = this.#apart.fork();
    broker.observe(({ subject }) => {
      if (this.#repaired || !THINGS_CHANGE.test(subject) || !random.chance(THINGS_AMBUSHED)) return;
      const victim = () => (random.chance(0.7) ? 'node-agent-0' : this.#victim(random));
      this.#strike(random, keyOf(subject), { withinMs: random.pick([5, 50]), victim });
    });
  }

  /** Soon kills an instance, and maybe removes the pod. */
  #strike(random: Random, uid: string, { withinMs, victim }: { withinMs: number; victim: () => string }): void {
    this.#node.scheduler.after(random.between(0, withinMs), () => {
      if (this.#repaired) return;
      this.#kill(victim());
      const plan = [...this.#wanted.values()].find((one) => one.uid === uid);
      if (plan !== undefined && random.chance(0.3)) this.#removePod(plan);
    });
  }

  #act(): void {
    const random = this.#random;
    const choice = random.fraction();
    if (this.#wanted.size === 0 || choice < 0.3) this.#addPod();
    else if (choice < 0.42) this.#removePod(random.pick([...this.#wanted.values()]));
    else if (choice < 0.5) this.#changePod();
    else if (choice < 0.71) this.#kill(this.#victim(random));
    else if (choice < 0.78) this.#scale();
    else if (choice < 0.83) this.#halt();
    else if (choice < 0.9) this.#crashBroker();
    else if (choice < 0.95) this.#runShort();
    else this.#glitch(this.#victim(random));
  }

  #addPod(): void {
    const drawn = planPod(this.#pods++, this.#random);
    const level = this.#exclusive?.level;
    const plan = level === undefined ? drawn : withResources(drawn, this.#apart, level);
    this.#write(plan, true);
    const { inits, main, restartPolicy, volume, whole } = plan;
    const parts = [restartPolicy, ...(volume ? ['volume'] : []), ...(whole ? ['resources as a whole'] : [])];
    this.#note(`add ${plan.name} (${[...inits, main].join(' ')}, ${parts.join(', ')})`);
  }

  #removePod(plan: PodPlan): void {
    this.#wanted.delete(plan.name);
    if (this.#cluster?.has(plan) === true) this.#cluster.remove(plan);
    else this.#node.folder.files.delete(path(plan));
    this.#node.folder.touch();
    this.#note(`remove ${plan.name}`);
  }

  /** Another UID under the same name, as when a static pod's manifest changes. */
  #changePod(): void {
    const plan = this.#random.pick([...this.#wanted.values()]);
    // Another pod of an API has another name, or comes when the first one is gone.
    if (this.#cluster?.has(plan) === true) {
      this.#removePod(plan);
      return;
    }
    const number = this.#pods++;
    const changed = { ...plan, uid: `uid-${number}` };
    this.#write(changed, false);
    this.#note(`change ${plan.name}: ${plan.uid} becomes ${changed.uid}`);
  }

  #write(plan: PodPlan, isNew: boolean): void {
    this.#wanted.set(plan.name, plan);
    this.#all.set(plan.uid, plan);
    if (isNew && this.#cluster?.add(plan) === true) return;
    this.#node.folder.files.set(path(plan), manifestOf(plan));
    this.#node.folder.touch();
  }

  get #workerNames(): string[] {
    return Array.from({ length: this.#workers }, (_, slot) => `pod-workers-${slot}`);
  }

  /** Starts the instances of a service that are not running. */
  #startAll(service: SimulatedService): void {
    const count = service === 'pod-workers' ? this.#workers : 1;
    for (let slot = 0; slot < count; slot++) this.#node.start(service, slot);
  }

  /** Any instance of any service; each service is equally likely. */
  #victim(random: Random): string {
    const service = random.pick(simulatedServices);
    return `${service}-${service === 'pod-workers' ? random.below(this.#workers) : 0}`;
  }

  #kill(instance: string): void {
    if (!this.#node.alive(instance)) return;
    if (this.#node.together(instance).includes('cri-bridge-0')) {
      this.#bridgeKilled = true;
      this.#exclusive?.bridgeKilled();
    }
    this.#node.kill(instance);
    this.#note(`kill ${instance}`);
    const service = [...simulatedServices, ...clusterServices].find((one) => instance.startsWith(one));
    this.#node.scheduler.after(this.#random.pick([1, 20, 300, 1_500]), () => {
      if (service !== undefined) this.#startAll(service);
    });
  }

  /** Changes the number of workers. Surplus ones end normally, are killed, or continue for a while without notice. */
  #scale(): void {
    const before = this.#workerNames;
    this.#workers = 1 + this.#random.below(MAX_WORKERS);
    const names = this.#workerNames;
    this.#note(`${names.length} instead of ${before.length} workers`);
    this.#startAll('pod-workers');
    const many = before.slice(names.length);
    const how = this.#random.pick(['stop', 'kill', 'forget'] as const);
    const share = () => this.#node.share(this.#workerNames);
    if (how === 'stop') void Promise.all(many.map((name) => this.#node.stop(name))).then(share);
    else {
      if (how === 'kill') for (const name of many) this.#node.kill(name);
      share();
      this.#node.scheduler.after(this.#random.between(0, 5_000), () => this.#endTooMany());
    }
  }

  #endTooMany(): void {
    for (const name of this.#node.instances) {
      if (name.startsWith('pod-workers') && !this.#workerNames.includes(name)) this.#node.kill(name);
    }
  }

  /** A worker is halted, and continues when its pods may long belong to another. */
  #halt(): void {
    const name = this.#random.pick(this.#workerNames);
    if (!this.#node.alive(name)) return;
    this.#node.halt(name);
    this.#note(`halt ${name}`);
    this.#node.scheduler.after(this.#random.pick([200, 1_500, 4_000, 12_000]), () => {
      this.#node.goOn(name);
      this.#note(`${name} continues`);
    });
  }

  /** For a time the node has too little memory: one or more pods have to go. */
  #runShort(): void {
    const missing = 1 + this.#random.below(40);
    this.#node.memory.shortBy(missing);
    this.#note(`short of memory by ${missing} MiB`);
    this.#node.scheduler.after(this.#random.between(5_000, 90_000), () => this.#node.memory.relax());
  }

  #crashBroker(): void {
    if (!this.#node.broker.up) return;
    this.#node.broker.crash();
    this.#note('crash the broker');
    this.#node.scheduler.after(this.#random.between(1, 3_000), () => {
      if (!this.#node.broker.up) this.#node.broker.start();
    });
  }

  #glitch(instance: string): void {
    const connection = this.#node.connection(instance);
    if (connection === undefined) return;
    this.#node.broker.glitch(connection);
    this.#note(`break the connection of ${instance}`);
  }

  /** From here on there are no faults. */
  #repair(): void {
    this.#repaired = true;
    this.#node.broker.weather = calm();
    this.#node.runtime.trouble = { lostEvent: 0, failedCreate: 0 };
    this.#node.plugins.trouble = { failed: 0 };
    if (!this.#node.broker.up) this.#node.broker.start();
    for (const name of this.#node.instances) this.#node.goOn(name);
    this.#endTooMany();
    for (const service of simulatedServices) this.#startAll(service);
    if (this.#cluster !== undefined) for (const service of clusterServices) this.#startAll(service);
    this.#cluster?.repair();
    this.#node.share(this.#workerNames);
    this.#note('everything works again');
  }

  /** Checks that nothing is wrong any more; done only from time to time, because the check itself is expensive. */
  #nextLook = 0;
  #atRest(): boolean {
    const { scheduler } = this.#node;
    if (scheduler.elapsed() < this.#nextLook) return false;
    this.#nextLook = scheduler.elapsed() + CALM_MS / 6;
    return this.#checkEnd().length === 0;
  }

  #checkEnd(): Violation[] {
    const ended = { rejected: this.#admission.rejected, evicted: this.#eviction.evicted };
    const wanted = [...this.#wanted.values()];
    const running = wanted.filter(({ uid }) => !ended.rejected.has(uid) && !ended.evicted.has(uid));
    return [
      ...checkEnd(this.#node, wanted, ended),
      ...(this.#exclusive?.atRest(running) ?? []),
      ...(this.#cluster?.checkEnd(wanted, new Set([...ended.rejected, ...ended.evicted])) ?? []),
    ];
  }

  #note(text: string): void {
    this.#trace.push(`${this.#node.scheduler.elapsed().toFixed(1).padStart(9)} ms  ${text}`);
  }
}

function path({ name }: PodPlan): string {
  return `/manifests/${name}.json`;
}
