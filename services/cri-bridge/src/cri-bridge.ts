import type { Bus } from '@kubus/bus';
import type { Clock, Logger } from '@kubus/ports';
import { type ObjectReader, noObjects } from './objects.ts';
import { servePlainCommands } from './plain-commands.ts';
import { Pleg } from './pleg.ts';
import { PodCommands } from './pod-commands.ts';
import { PodEffects } from './pod-effects.ts';
import type { Runtime } from './runtime.ts';
import { RuntimeWatch } from './runtime-watch.ts';
import { Stamps } from './stamps.ts';

export interface CriBridgeOptions {
  readonly runtime: Runtime;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Runtime handler whose network is cni-bridge's. */
  readonly handler: string | undefined;
  readonly sandboxesAtOnce: number;
  /** Left out: the node has no object-cache. */
  readonly objects?: ObjectReader | undefined;
}

/** The one connection of the node to its container runtime. */
export class CriBridge {
  readonly #pleg: Pleg;
  readonly #watch: RuntimeWatch;
  readonly #commands: PodCommands;

  constructor(options: CriBridgeOptions) {
    const { runtime, bus, clock, logger, handler, sandboxesAtOnce, objects = noObjects } = options;
    const stamps = new Stamps(bus.epoch);
    this.#watch = new RuntimeWatch({ runtime, bus, clock, logger, handler });
    this.#pleg = new Pleg({ runtime, bus, clock, logger, stamps });
    const effects = new PodEffects({ runtime, clock, logger, handler: (wanted) => this.#watch.handler(wanted) });
    this.#commands = new PodCommands({ bus, pleg: this.#pleg, effects, stamps, objects, sandboxesAtOnce });
    this.#commands.serve();
    servePlainCommands({ bus, runtime, stamps });
    this.#watch.start();
    this.#pleg.start((state) => this.#watch.eventsChanged(state));
  }

  /** What is wrong, for the service's health. */
  get problem(): string | undefined {
    return this.#watch.problem;
  }

  /** Sandboxes being made now, and waiting for their turn. */
  get sandboxes(): { making: number; waiting: number } {
    return this.#commands.sandboxes;
  }

  stop(): void {
    this.#pleg.stop();
    this.#watch.stop();
  }
}
