import { type Slot, SlotTaken, claimSlot } from '@kubus/service-kit';
import { poll } from './poll.ts';

/**
 * Claims an instance's slot before the restarted instance does, so that it cannot serve until the slot is released.
 *
 * @param stateDir the service's own folder
 * @param kill ends the process that has the slot now; called until the slot is taken
 */
export function takeSlot(stateDir: string, slot: number, kill: () => Promise<unknown>): Promise<Slot> {
  return poll(`slot ${slot} in ${stateDir}`, async () => {
    await kill();
    try {
      return claimSlot(stateDir, slot);
    } catch (error) {
      if (error instanceof SlotTaken) return undefined;
      throw error;
    }
  });
}
