import { type MachineSnapshot, shimSocket, takeSnapshot, watchedFolders } from '@kubus/launcher';
import type { NodeDir } from '@kubus/launcher';
import { HarnessError } from './errors.ts';
import type { EventLog } from './event-log.ts';
import { containerOf } from './runtime-events.ts';

/** Every container and sandbox that the runtime has reported. */
export function knownContainers(events: EventLog): string[] {
  return [...new Set(events.events.map(containerOf).filter((id) => id !== undefined))];
}

/**
 * Everything of a node and of its containers on the machine. It is recognized by the names of the node's folders, its
 * cgroup and its containers, so other nodes that run at the same time are not included.
 */
export async function takeNodeSnapshot(
  dir: NodeDir,
  containers: readonly string[],
  folders: readonly string[] = [dir.root, dir.run],
): Promise<MachineSnapshot> {
  const sockets = containers.map((id) => shimSocket(dir.socket('containerd'), id));
  return takeSnapshot({
    folders: [...new Set([...watchedFolders, ...folders])],
    about: [...folders, dir.cgroupRoot, ...containers, ...sockets],
  });
}

/** @throws HarnessError `Leak` that lists what the snapshot has. */
export function expectEmpty(snapshot: MachineSnapshot, who: string): void {
  const left = Object.entries(snapshot).flatMap(([aspect, entries]) => entries.map((entry) => `${aspect}: ${entry}`));
  if (left.length > 0) {
    throw new HarnessError('Leak', [`${who} left behind:`, ...left].join('\n  '));
  }
}
