import type { ContainerDevices } from '@kubus/contracts';
import {
  type AllocationEntry,
  type DeviceCheckpoint,
  deviceCheckpoint,
  parseDeviceCheckpoint,
} from '@kubus/device-manager';
import { readRegular, replaceRegular } from '@kubus/filesystem';
import { decodeAnswer, encodeAnswer } from '@kubus/node-plugins';
import { type Logger, toError } from '@kubus/ports';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The devices of one resource that a container of a pod has, with what the plugin's answer adds to it. */
export interface KeptAllocation extends Omit<AllocationEntry, 'answer'> {
  readonly answer: ContainerDevices;
}

/** What the node has of devices. */
export interface KeptDevices {
  readonly allocations: readonly KeptAllocation[];
  readonly resources: DeviceCheckpoint['resources'];
}

/** More than any machine's devices need. In bytes. */
const LARGEST = 16 * 1024 * 1024;

const NAME = 'kubelet_internal_checkpoint';

/**
 * The reference kubelet's checkpoint of devices, in the folder of the plugins' sockets: what an earlier agent, this one or the reference, has
 * left there, and from {@link follow} on what this one has. It is replaced as a whole.
 */
export class DeviceCheckpointFile {
  /** What an earlier agent has left. */
  readonly found: KeptDevices;
  readonly #path: string;
  readonly #logger: Logger;
  #present: (() => KeptDevices) | undefined;
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  private constructor(path: string, logger: Logger, found: KeptDevices) {
    this.#path = path;
    this.#logger = logger;
    this.found = found;
  }

  /** @param folder of the plugins' sockets; created if it is missing */
  static async open(folder: string, logger: Logger): Promise<DeviceCheckpointFile> {
    await mkdir(folder, { recursive: true, mode: 0o750 });
    const path = join(folder, NAME);
    let found: KeptDevices = { allocations: [], resources: {} };
    try {
      const text = await readRegular(path, { limit: LARGEST });
      if (text !== undefined) found = keptIn(text.toString());
    } catch (error) {
      // As the reference. This agent's own records say which devices it has given.
      const message = 'failed to read the checkpoint of devices. Device allocation info may NOT be up-to-date';
      logger.error({ path, err: toError(error) }, message);
    }
    return new DeviceCheckpointFile(path, logger, found);
  }

  /** @param present returns what the node has at the time of a call */
  follow(present: () => KeptDevices): void {
    this.#present = present;
  }

  /** Resolves when what the node has now is on the disk. An error is logged; the next change tries again. */
  save(): Promise<void> {
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined;
      this.#writing = this.#write();
      return this.#writing;
    });
    return this.#next;
  }

  async #write(): Promise<void> {
    const present = this.#present?.();
    if (present === undefined) return;
    const entries = present.allocations.map((one) => ({ ...one, answer: encodeAnswer(one.answer) }));
    try {
      const text = deviceCheckpoint({ entries, resources: present.resources });
      await replaceRegular(this.#path, text, 0o600, { durable: true });
    } catch (error) {
      this.#logger.error({ path: this.#path, err: toError(error) }, 'failed to write the checkpoint of devices');
    }
  }
}

function keptIn(text: string): KeptDevices {
  const found = parseDeviceCheckpoint(text);
  if ('problem' in found) throw new Error(found.problem);
  const allocations = found.entries.map((one) => ({ ...one, answer: decodeAnswer(one.answer) }));
  return { allocations, resources: found.resources };
}
