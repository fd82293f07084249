import type { Bus } from '@kubus/bus';
import { clusterNode, freeImages, runtimeNodeEvent } from '@kubus/contracts';
import { type ObjectReader, noObjects } from '@kubus/object-socket';
import type { Clock, Logger } from '@kubus/ports';
import { EventRecorder, type EventRecorderOptions, SealKey } from '@kubus/service-kit';
import { BridgeMetrics } from './bridge-metrics.ts';
import { ImageCollector, type ImageCollectorOptions } from './image/image-collector.ts';
import { ImageList } from './image/image-list.ts';
import { Images, type ImagesOptions } from './image/images.ts';
import { servePlainCommands } from './runtime/plain-commands.ts';
import { Pleg } from './pod/pleg.ts';
import { PodCommands } from './pod/pod-commands.ts';
import { PodEffects } from './pod/pod-effects.ts';
import { PodValues } from './pod/pod-values.ts';
import type { Runtime } from './runtime/runtime.ts';
import { RuntimeWatch } from './runtime/runtime-watch.ts';
import { Stamps } from './runtime/stamps.ts';

export interface CriBridgeOptions {
  readonly runtime: Runtime;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Runtime handler whose network cni-bridge sets up. */
  readonly handler: string | undefined;
  readonly sandboxesAtOnce: number;
  readonly images: Pick<ImagesOptions, 'credentials' | 'limits' | 'pulled' | 'verification' | 'wayOut'>;
  readonly imageGc: Pick<ImageCollectorOptions, 'keep' | 'policy' | 'space'>;
  /** Default: the node has no object-cache. */
  readonly objects?: ObjectReader | undefined;
  /** Address ranges of the node's pods, for a runtime that runs CNI itself, when the Node object has none. */
  readonly podCidrs: readonly string[];
  /** Default: nothing is measured. */
  readonly metrics?: BridgeMetrics | undefined;
  /** See {@link EventRecorder}. */
  readonly eventRate?: EventRecorderOptions['rate'];
}

/** The node's one connection to its container runtime. */
export class CriBridge {
  readonly #pleg: Pleg;
  readonly #watch: RuntimeWatch;
  readonly #commands: PodCommands;
  readonly #images: Images;
  readonly #collector: ImageCollector;
  readonly #list: ImageList;
  readonly #sealKey = new SealKey();

  constructor(options: CriBridgeOptions) {
    const { bus, clock, logger, handler, sandboxesAtOnce, podCidrs, objects = noObjects } = options;
    const { metrics = new BridgeMetrics() } = options;
    const list = new ImageList({ runtime: options.runtime, bus, clock, logger });
    const runtime = list.observed(metrics.measured(options.runtime, clock));
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
    servePlainCommands({ bus, runtime, stamps, key: this.#sealKey });
    const shared = { runtime, bus, clock, logger };
    const nodeEvents = new EventRecorder({ bus, clock, rate: options.eventRate }).ofNode(runtimeNodeEvent);
    const { pulled } = options.images;
    const collector = new ImageCollector({ runtime, nodeEvents, clock, logger, pulled, ...options.imageGc });
    this.#collector = collector;
    bus.serve(freeImages, () => collector.free());
    this.#images = new Images({ ...shared, ...options.images, metrics, onGiven: (id) => collector.given(id) });
    this.#images.serve();
    bus.reader(clusterNode, {
      changed: ({ value }) => this.#watch.usePodCidrs(value.podCIDRs.length > 0 ? value.podCIDRs : podCidrs),
    });
    this.#watch.start();
    this.#watch.onceConnected(() => {
      void this.#images.settleStarted();
      collector.start();
      list.start();
    });
    this.#pleg.start((state) => this.#watch.eventsChanged(state));
  }

  /** The public key for which commands of people are sealed. */
  get sealKey(): string {
    return this.#sealKey.publicKey;
  }

  /** What is wrong, for the service's health; undefined when nothing is. */
  get problem(): string | undefined {
    return this.#watch.problem;
  }

  /** Numbers of sandboxes being made, and waiting for a turn. */
  get sandboxes(): { making: number; waiting: number } {
    return this.#commands.sandboxes;
  }

  /** Numbers of running image pulls, and of those waiting for a turn. */
  get pulls(): { pulling: number; waiting: number } {
    return this.#images.pulls;
  }

  /** Images that garbage collection has removed since the start, by reason. */
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
