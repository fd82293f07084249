import { setTimeout as wait } from 'node:timers/promises';
import type { NodeMessage, TestNode } from '@kubus/harness';
import type { PlannedKill } from './kill-plan.ts';

/** How long a planned kill waits for its command before it happens without one, in milliseconds. */
const COMMAND_MS = 5_000;

export interface KillPhase<Victim extends string> {
  readonly node: TestNode;
  readonly kills: readonly PlannedKill<Victim>[];
  /** The actions on the pods meanwhile. */
  readonly actions: readonly (() => Promise<void>)[];
  readonly kill: (victim: Victim) => Promise<void>;
}

/** Does the actions, in equal parts before each of the kills. */
export async function runPhase<Victim extends string>(phase: KillPhase<Victim>): Promise<void> {
  const { node, kills, actions } = phase;
  for (const [index, { victim, command, delayMs }] of kills.entries()) {
    const part = (at: number) => Math.round((actions.length * at) / kills.length);
    const awaited = awaitCommand(node, command);
    for (const act of actions.slice(part(index), part(index + 1))) await act();
    await awaited;
    await wait(delayMs);
    await phase.kill(victim);
  }
}

/** Every command for a pod that a node's services have sent so far. */
export function podCommands({ watch }: TestNode): NodeMessage[] {
  return watch.messages.all.filter(({ envelope }) => envelope?.pod !== undefined && envelope.type.includes('.cmd.'));
}

/** Waits for the n-th command for a pod from now on; not longer than {@link COMMAND_MS}. */
async function awaitCommand(node: TestNode, count: number | undefined): Promise<void> {
  if (count === undefined) return;
  const before = podCommands(node).length;
  const come = () => (podCommands(node).length >= before + count ? true : undefined);
  await node.watch.until('a command for a pod', come, COMMAND_MS).catch(() => undefined);
}
