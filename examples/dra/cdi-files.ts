import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Files of the Container Device Interface: what the runtime does to a container that has one of the devices. */
export class CdiFiles {
  readonly #folder: string;
  readonly #kind: string;

  /** @param driver a name such as `devices.example.com`, which the devices' names begin with */
  constructor(folder: string, driver: string) {
    this.#folder = folder;
    this.#kind = `${driver}/claim`;
  }

  /** Describes the devices of a claim. Returns the function from a device to its name in the Container Device Interface. */
  async write(claim: string, devices: readonly string[]): Promise<(device: string) => string> {
    const content = {
      cdiVersion: '0.6.0',
      kind: this.#kind,
      devices: devices.map((device) => ({
        name: `${claim}-${device}`,
        containerEdits: { env: [`DEVICE_${device.replaceAll(/\W/g, '_').toUpperCase()}=${claim}`] },
      })),
    };
    // The runtime reads the folder at any time: a file is there as a whole or not at all.
    const beside = join(this.#folder, `.${this.#name(claim)}`);
    await writeFile(beside, JSON.stringify(content));
    await rename(beside, join(this.#folder, this.#name(claim)));
    return (device) => `${this.#kind}=${claim}-${device}`;
  }

  remove(claim: string): Promise<void> {
    return rm(join(this.#folder, this.#name(claim)), { force: true });
  }

  #name(claim: string): string {
    return `${this.#kind.replace('/', '-')}-${claim}.json`;
  }
}
