import { type FSWatcher, mkdirSync, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DeviceHealth } from '@kubus/proto/dra-health-grpc';
import * as z from 'zod';

/** What is said of a device that is ill, by its name. */
const illSchema = z.record(z.string(), z.string());
/** How often health is reported that has not changed, in milliseconds, and after how many seconds without a report it no longer counts. */
const EVERY_MS = 10_000;
const COUNTS_S = 30;

type Send = (devices: DeviceHealth[]) => void;

/** The health of devices: those that a file lists are ill. A real driver asks its devices. */
export class DeviceHealths {
  readonly #path: string;
  readonly #pool: string;
  readonly #count: number;
  readonly #followers = new Set<Send>();
  readonly #watcher: FSWatcher;

  constructor(path: string, pool: string, count: number) {
    [this.#path, this.#pool, this.#count] = [path, pool, count];
    mkdirSync(dirname(path), { recursive: true });
    this.#watcher = watch(dirname(path), () => void this.#report());
    setInterval(() => void this.#report(), EVERY_MS).unref();
    this.#watcher.unref();
  }

  /** Sends the health of all devices, now and whenever it changes, until the returned function is called. */
  follow(send: Send): () => void {
    this.#followers.add(send);
    void this.#report();
    return () => void this.#followers.delete(send);
  }

  async #report(): Promise<void> {
    const ill = await this.#read();
    const devices = Array.from({ length: this.#count }, (_, index) => `device-${index}`).map(
      (deviceName): DeviceHealth => ({
        device: { poolName: this.#pool, deviceName },
        health: ill[deviceName] === undefined ? 'HEALTHY' : 'UNHEALTHY',
        lastUpdatedTime: String(Math.floor(Date.now() / 1000)),
        healthCheckTimeoutSeconds: String(COUNTS_S),
        message: ill[deviceName] ?? '',
      }),
    );
    for (const send of this.#followers) send(devices);
  }

  async #read(): Promise<z.infer<typeof illSchema>> {
    try {
      return illSchema.parse(JSON.parse(await readFile(this.#path, 'utf8')));
    } catch {
      // No file, or one that is being written.
      return {};
    }
  }
}
