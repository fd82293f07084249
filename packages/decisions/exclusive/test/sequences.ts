import { readFileSync, readdirSync } from 'node:fs';
import {
  type ContainerRequest,
  type ExclusiveSettings,
  type Ledger,
  type Machine,
  admitted,
  cpuCheckpoint,
  describedMachine,
  emptyLedger,
  exclusiveSetup,
  machineDescription,
  memoryCheckpoint,
  withoutEndedMemory,
  withoutPod,
} from '../src/index.ts';
import { checksum } from '../src/checkpoint/checksum.ts';

/** What happens on a node: a pod is added, one of its containers is created, or it is removed. */
export type Step =
  | { readonly op: 'add'; readonly uid: string; readonly containers: readonly SequenceContainer[] }
  | { readonly op: 'start'; readonly uid: string; readonly name: string }
  | { readonly op: 'remove'; readonly uid: string };

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
}

/** The result of a step. */
interface Answer {
  readonly admit: boolean;
  readonly reason?: string;
  readonly message?: string;
  /** Both checkpoints, without their checksums. */
  readonly cpu: unknown;
  readonly memory: unknown;
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

/** What the decisions answer to each step. */
export function answersTo(on: Machine, config: SequenceConfig, steps: readonly Step[]): Answers {
  const setup = exclusiveSetup(on, settingsOf(config));
  if ('problem' in setup) return { problem: setup.problem, answers: [] };
  let ledger = emptyLedger(setup);
  const pods = new Map<string, readonly ContainerRequest[]>();
  const answers = steps.map((step): Answer => {
    const { uid } = step;
    if (step.op === 'remove') ledger = withoutPod(ledger, uid);
    if (step.op === 'start' && setup.memory !== undefined) {
      ledger = withoutEndedMemory(ledger, { uid, containers: pods.get(uid) ?? [] }, step.name);
    }
    if (step.op !== 'add') return { admit: true, ...checkpoints(config, ledger) };
    const containers = step.containers.map(requestOf);
    const { ledger: next, refusal } = admitted(setup, ledger, { uid, containers });
    ledger = next;
    if (refusal === undefined) pods.set(uid, containers);
    return {
      admit: refusal === undefined,
      ...(refusal && { reason: refusal.reason, message: refusal.message }),
      ...checkpoints(config, ledger),
    };
  });
  return { answers };
}

function requestOf({ name, kind, milli, memory }: SequenceContainer): ContainerRequest {
  return { name, kind, cpus: milli % 1000 === 0 ? milli / 1000 : 0, memory };
}

function checkpoints({ cpuPolicy, memoryPolicy }: SequenceConfig, ledger: Ledger): Pick<Answer, 'cpu' | 'memory'> {
  const cpu = cpuPolicy === 'none' ? { ...ledger, shared: [] } : ledger;
  return { cpu: content(cpuCheckpoint(cpuPolicy, cpu)), memory: content(memoryCheckpoint(memoryPolicy, ledger)) };
}

/** A short form of the answers, which is equal only for equal ones. */
export function summary({ problem, answers }: Answers): string {
  const admits = answers.map(({ admit }) => (admit ? '1' : '0')).join('');
  return problem ?? `${admits} ${checksum(canonical(answers)).toString(16)}`;
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
