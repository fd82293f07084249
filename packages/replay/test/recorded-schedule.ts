import { silentLogger } from '@kubus/ports';
import { type SimulatedService, runSchedule } from '@kubus/simulation';
import type { StoredMessage } from '../src/index.ts';

/** The services of the simulation that keep journals. */
export const journaled: readonly SimulatedService[] = ['config-sources', 'sync-loop', 'pod-workers'];

/** Every message of a node whose services are killed as the seed says, in the order in which the broker took them. */
export async function recordSchedule(seed: number): Promise<StoredMessage[]> {
  const messages: StoredMessage[] = [];
  const { violations } = await runSchedule({
    seed,
    logger: silentLogger,
    journaled,
    record: (message) => messages.push({ seq: messages.length + 1, message }),
  });
  if (violations.length > 0) throw new Error(`seed ${seed} goes wrong: ${JSON.stringify(violations)}`);
  return messages;
}
