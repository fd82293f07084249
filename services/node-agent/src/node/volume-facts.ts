import type { Bus } from '@kubus/bus';
import { type CsiPlugin, csiPlugin, volumesInUse } from '@kubus/contracts';
import type { KnownPlugins } from '@kubus/node-status';

/** Facts of volume-manager for the Node object: the CSI drivers of the node, and the volumes in use. */
export class VolumeFacts {
  readonly #plugins = new Map<string, CsiPlugin>();
  #complete = false;
  #inUse: readonly string[] | undefined;

  /** @param changed called after each change */
  constructor({ bus, node, changed }: { bus: Bus; node: string; changed: () => void }) {
    bus.reader(csiPlugin, {
      changed: ({ key, value }) => {
        this.#plugins.set(key, value);
        changed();
      },
      removed: ({ key }) => {
        this.#plugins.delete(key);
        changed();
      },
      complete: () => {
        this.#complete = true;
        changed();
      },
    });
    bus.reader(volumesInUse, {
      changed: ({ key, value }) => {
        if (key !== node) return;
        this.#inUse = value.volumes;
        changed();
      },
    });
  }

  get known(): KnownPlugins {
    return { plugins: [...this.#plugins.values()], complete: this.#complete };
  }

  /** Undefined: not published yet. */
  get inUse(): readonly string[] | undefined {
    return this.#inUse;
  }
}
