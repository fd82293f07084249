import type { Bus } from '@kubus/bus';
import { clusterNode, runtimeNodeEvent } from '@kubus/contracts';
import { type ObjectReader, noObjects } from '@kubus/object-socket';
import type { Clock, Logger } from '@kubus/ports';
import { EventRecorder, type EventRecorderOptions } from '@kubus/service-kit';
import { BridgeMetrics } from './bridge-metrics.ts';
import { ImageCollector, type ImageCollectorOptions } from './image-collector.ts';
import { ImageList } from './image-list.ts';
import { Images, type ImagesOptions } from './images.ts';
import { servePlainCommands } from './plain-commands.ts';
import { Pleg } from './pleg.ts';
import { PodCommands } from './pod-commands.ts';
import { PodEffects } from './pod-effects.ts';
import { PodValues } from './pod-values.ts';
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
  readonly images: Pick<ImagesOptions, 'credentials' | 'limits' | 'pulled' | 'verification'>;
  readonly imageGc: Pick<ImageCollectorOptions, 'keep' | 'policy' | 'space'>;
  /** Left out: the node has no object-cache. */
  readonly objects?: ObjectReader | undefined;
  /** Address ranges of the node's pods, for a runtime that runs CNI itself, where the Node has none. */
  readonly podCidrs: readonly string[];
  /** Left out: nobody looks at them. */
  readonly metrics?: BridgeMetrics | undefined;
  /** See {@link EventRecorder}. */
  readonly eventRate?: EventRecorderOptions['rate'];
}

/** The one connection of the node to its container runtime. */
export class CriBridge {
  readonly #pleg: Pleg;
  readonly #watch: RuntimeWatch;
  readonly #commands: PodCommands;
  readonly #images: Images;
  readonly #collector: ImageCollector;
  readonly #list: ImageList;

  constructor(options: CriBridgeOptions) {
    const { bus, clock, logger, handler, sandboxesAtOnce, podCidrs, objects = noObjects } = options;
    const { metrics = new BridgeMetrics() } = options;
    const list = new ImageList({ runtime: options.runtime, bus, clock, logger });
    const runtime = list.heardFrom(metrics.measured(options.runtime, clock));
    this.#list = list;
    const stamps = new Stamps(bus.epoch);
    this.#watch = new RuntimeWatch({ runtime, bus, clock, logger, handler, podCidrs });
    const values = new PodValues();
    this.#pleg = new Pleg({ runtime, bus, clock, logger, stamps, values, metrics });
    const effects = new PodEffects({
      ...{ runtime, clock, logger, metrics },
      handler: (wanted) => this.#watch.handler(wanted),
    });
    this.#commands = new PodCommands({ bus, pleg: this.#pleg, effects, stamps, objects, values, sandboxesAtOnce });
    this.#commands.serve();
    servePlainCommands({ bus, runtime, stamps });
    const shared = { runtime, bus, clock, logger };
    const nodeEvents = new EventRecorder({ bus, clock, rate: options.eventRate }).ofNode(runtimeNodeEvent);
    const { pulled } = options.images;
    const collector = new ImageCollector({ runtime, nodeEvents, clock, logger, pulled, ...options.imageGc });
    this.#collector = collector;
    this.#images = new Images({ ...shared, ...options.images, metrics, onGiven: (id) => collector.given(id) });
    this.#images.serve();
    bus.reader(clusterNode, {
      changed: ({ value }) => this.#watch.usePodCidrs(value.podCIDRs.length > 0 ? value.podCIDRs : podCidrs),
    });
    this.#watch.start();
    this.#watch.onceConnected(() => {
      void this.#images.settleBegun();
      collector.start();
      list.start();
    });
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

  /** Pulls of images that go on, and that wait for their turn. */
  get pulls(): { pulling: number; waiting: number } {
    return this.#images.pulls;
  }

  /** Images that garbage collection has removed since the start, by why. */
  get imagesRemoved(): { readonly age: number; readonly space: number } {
    return this.#collector.removed;
  }

  stop(): void {
    this.#collector.stop();
    this.#list.stop();
    this.#pleg.stop();
    this.#watch.stop();
  }
}
