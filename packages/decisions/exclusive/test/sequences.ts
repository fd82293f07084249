import { podSchema } from '@kubus/contracts';
import { readFileSync, readdirSync } from 'node:fs';
import {
  type ContainerRequest,
  type ExclusiveSettings,
  type ExclusiveSetup,
  type Ledger,
  type Machine,
  type PodLevel,
  type PodRequest,
  type Refusal,
  admitted,
  cpuCheckpoint,
  describedMachine,
  emptyLedger,
  exclusiveSetup,
  ledgerProblem,
  machineDescription,
  memoryCheckpoint,
  podRequest,
  withoutEndedMemory,
  withoutPod,
} from '../src/index.ts';
import { checksum } from '../src/checkpoint/checksum.ts';

/** What happens on a node: a pod is added, one of its containers is created, or it is removed. */
export type PlainStep =
  | { readonly op: 'add'; readonly uid: string; readonly containers: readonly SequenceContainer[] }
  | { readonly op: 'start'; readonly uid: string; readonly name: string }
  | { readonly op: 'remove'; readonly uid: string };

/** The managers start again with their checkpoints, too, and a pod that was admitted before that is admitted again. */
export type Step =
  | PlainStep
  | { readonly op: 'add'; readonly uid: string; readonly spec: SequencePod }
  | { readonly op: 'again'; readonly uid: string }
  | { readonly op: 'restart' };

/** A pod as an API object has it. */
export interface SequencePod {
  readonly initContainers?: readonly ApiContainer[];
  readonly containers: readonly ApiContainer[];
  /** Of the pod as a whole. */
  readonly resources?: ApiResources;
}

interface ApiContainer {
  readonly name: string;
  readonly image: string;
  readonly restartPolicy?: string;
  readonly resources?: ApiResources;
}

interface ApiResources {
  readonly requests: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, string>>;
}

export interface SequenceContainer {
  readonly name: string;
  readonly kind: ContainerRequest['kind'];
  readonly milli: number;
  readonly memory: Readonly<Record<string, number>>;
}

/** Settings as a sequence names them. */
export interface SequenceConfig {
  readonly cpuPolicy: string;
  readonly cpuOptions: Readonly<Record<string, string>>;
  readonly memoryPolicy: string;
  readonly topologyPolicy: string;
  readonly scope: string;
  readonly topologyOptions: Readonly<Record<string, string>>;
  readonly reservedCpus: string;
  readonly reservedMilli: number;
  readonly reservedMemory: readonly { readonly node: number; readonly limits: Readonly<Record<string, number>> }[];
  /** Pods with resources of their own have exclusive things. */
  readonly podLevel?: boolean;
}

/** The result of a step. */
interface Answer {
  readonly admit: boolean;
  readonly reason?: string;
  readonly message?: string;
  /** Both checkpoints, without their checksums. Missing: the managers do not start with them. */
  readonly cpu?: unknown;
  readonly memory?: unknown;
}

export interface Answers {
  /** Why nothing starts with the settings. */
  readonly problem?: string;
  readonly answers: readonly Answer[];
}

const folder = new URL('data/machines/', import.meta.url);

export const machineNames = readdirSync(folder)
  .map((name) => name.replace(/\.json$/, ''))
  .toSorted();

const machines = new Map<string, Machine>();

export function machine(name: string): Machine {
  const known = machines.get(name);
  if (known !== undefined) return known;
  const description = machineDescription.parse(JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8')));
  const found = describedMachine(description);
  if ('problem' in found) throw new Error(`${name}: ${found.problem}`);
  machines.set(name, found);
  return found;
}

export function settingsOf(config: SequenceConfig): ExclusiveSettings {
  const sums: Record<string, number> = {};
  for (const { limits } of config.reservedMemory) {
    for (const [type, bytes] of Object.entries(limits)) sums[type] = (sums[type] ?? 0) + bytes;
  }
  return {
    cpuManagerPolicy: config.cpuPolicy,
    cpuManagerPolicyOptions: config.cpuOptions,
    gates: { alpha: true, beta: true },
    memoryManagerPolicy: config.memoryPolicy,
    topologyManagerPolicy: config.topologyPolicy,
    topologyManagerScope: config.scope,
    topologyOptions: {
      preferClosest: config.topologyOptions['prefer-closest-numa-nodes'] === 'true',
      mostNodes: Number(config.topologyOptions['max-allowable-numa-nodes'] ?? 8),
    },
    reservedSystemCPUs: config.reservedCpus,
    reservedMilliCpus: config.reservedMilli,
    reservedBytes: sums,
    reservedMemory: config.reservedMemory.map(({ node, limits }) => ({ numaNode: node, limits })),
  };
}

/** What the decisions answer to each step. The last one may be why the managers do not start again. */
export function answersTo(on: Machine, config: SequenceConfig, steps: readonly Step[]): Answers {
  const setup = exclusiveSetup(on, settingsOf(config));
  if ('problem' in setup) return { problem: setup.problem, answers: [] };
  const scope = setup.topology?.scope ?? 'container';
  const podLevel = config.podLevel === true ? scope : undefined;
  let state: NodeState = { ledger: emptyLedger(setup), pods: new Map() };
  const answers: Answer[] = [];
  for (const step of steps) {
    const message = step.op === 'restart' ? ledgerProblem(setup, state.ledger) : undefined;
    if (message !== undefined) return { answers: [...answers, { admit: false, reason: 'restart', message }] };
    const { refusal, ...next } = after(setup, state, step, podLevel);
    state = next;
    answers.push({
      admit: refusal === undefined,
      ...(refusal && { reason: refusal.reason, message: refusal.message }),
      ...checkpoints(config, state.ledger),
    });
  }
  return { answers };
}

/** Who has what, and the pods that were admitted. */
interface NodeState {
  readonly ledger: Ledger;
  readonly pods: ReadonlyMap<string, PodRequest>;
}

function after(
  setup: ExclusiveSetup,
  { ledger, pods }: NodeState,
  step: Step,
  podLevel: PodLevel,
): NodeState & { readonly refusal?: Refusal | undefined } {
  if (step.op === 'restart') return { ledger, pods };
  const { uid } = step;
  const others = new Map([...pods].filter(([one]) => one !== uid));
  if (step.op === 'remove') return { ledger: withoutPod(ledger, uid), pods: others };
  const pod = step.op === 'add' ? addedPod(step, podLevel) : pods.get(uid);
  if (pod === undefined) return { ledger, pods };
  if (step.op === 'start') {
    return { ledger: setup.memory === undefined ? ledger : withoutEndedMemory(ledger, pod, step.name), pods };
  }
  const { ledger: next, refusal } = admitted(setup, ledger, pod);
  return { ledger: next, pods: refusal === undefined ? new Map([...others, [uid, pod]]) : others, refusal };
}

function addedPod(step: Step & { readonly op: 'add' }, podLevel: PodLevel): PodRequest {
  const { uid } = step;
  if ('containers' in step) return { uid, containers: step.containers.map(requestOf) };
  return podRequest(podSchema.parse({ metadata: { name: uid, namespace: 'n', uid }, spec: step.spec }), podLevel);
}

function requestOf({ name, kind, milli, memory }: SequenceContainer): ContainerRequest {
  return { name, kind, cpus: milli % 1000 === 0 ? milli / 1000 : 0, memory };
}

function checkpoints(
  { cpuPolicy, memoryPolicy, podLevel }: SequenceConfig,
  ledger: Ledger,
): Pick<Answer, 'cpu' | 'memory'> {
  const cpu = cpuPolicy === 'none' ? { ...ledger, shared: [] } : ledger;
  return {
    cpu: content(cpuCheckpoint(cpuPolicy, cpu, podLevel)),
    memory: content(memoryCheckpoint(memoryPolicy, ledger, podLevel)),
  };
}

/** A short form of the answers, which is equal only for equal ones. */
export function summary({ problem, answers }: Answers): string {
  const admits = answers.map(({ admit }) => (admit ? '1' : '0')).join('');
  return problem ?? `${admits} ${checksum(canonical(answers.map(withOneKind))).toString(16)}`;
}

/** Where a pod lacks several kinds of memory, the reference names any of them. */
function withOneKind(answer: Answer): Answer {
  const { message } = answer;
  if (message === undefined) return answer;
  return { ...answer, message: message.replace(/hugepages-\S+ (available|requests)/, 'memory $1') };
}

/** With the keys of each object in one order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}

function content(checkpoint: string): unknown {
  const { checksum, ...rest } = JSON.parse(checkpoint) as Record<string, unknown>;
  if (typeof checksum !== 'number') throw new Error('a checkpoint without a checksum');
  return rest;
}

const GIB = 2 ** 30;

/** Both managers, with a CPU and 1 GiB for the system. */
export const bothManagers: ExclusiveSettings = {
  cpuManagerPolicy: 'static',
  cpuManagerPolicyOptions: {},
  gates: { alpha: true, beta: true },
  memoryManagerPolicy: 'Static',
  topologyManagerPolicy: 'best-effort',
  topologyManagerScope: 'container',
  topologyOptions: { preferClosest: false, mostNodes: 8 },
  reservedSystemCPUs: '',
  reservedMilliCpus: 1000,
  reservedBytes: { memory: GIB },
  reservedMemory: [{ numaNode: 0, limits: { memory: GIB } }],
};

/** {@link bothManagers} on a described machine. */
export function setupOn(name: string, changed: Partial<ExclusiveSettings> = {}): ExclusiveSetup {
  const setup = exclusiveSetup(machine(name), { ...bothManagers, ...changed });
  if ('problem' in setup) throw new Error(setup.problem);
  return setup;
}
