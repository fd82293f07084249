import type { Bus, FactOwner, FactReader } from '@kubus/bus';
import type { NetworkReadiness, PluginRunner } from '@kubus/cni-config';
import {
  NO_KEY,
  type NetworkCondition,
  type RuntimePod,
  clusterNode,
  networkCondition,
  pluginRun,
  podNetwork,
  runtimePod,
} from '@kubus/contracts';
import type { Cancel, Clock, Logger, RecordStore } from '@kubus/ports';
import { CniBridge } from './cni-bridge.ts';
import type { BridgeEvents, BridgeLimits, PluginEvent } from './options.ts';
import { PluginCauses } from './plugin-causes.ts';
import { PodNetworks } from './pod-networks.ts';

/** Milliseconds between runs of garbage collection and attachment checks. */
const LOOK_MS = 600_000;
/** Milliseconds before the first retry of a failed removal; the delay doubles each time. */
const FIRST_RETRY_MS = 1_000;
const KEY = 'network';

export interface NetworkOnBusOptions extends Pick<BridgeEvents, 'onLastHostPort'> {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly journal: RecordStore;
  readonly plugins: PluginRunner;
  readonly limits: Partial<BridgeLimits>;
  /** Address ranges of the node's pods, if the Node object has none. */
  readonly podCidrs?: readonly string[];
}

/**
 * The bridge on the bus: publishes its readiness and each pod's network as facts and each plugin run as an event, and
 * learns from the runtime's pods which attachments are unused.
 */
export class NetworkOnBus {
  readonly bridge: CniBridge;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #condition: FactOwner<NetworkCondition>;
  readonly #networks: PodNetworks;
  readonly #causes = new PluginCauses();
  readonly #pods: FactReader<RuntimePod>;
  #timer: Cancel | undefined;
  #retry: Cancel | undefined;
  #retryMs = FIRST_RETRY_MS;
  /** No check runs before this time, in milliseconds since the Unix epoch. */
  #checkAt = 0;
  #stopped = false;

  constructor(options: NetworkOnBusOptions) {
    const { bus, clock, podCidrs = [], onLastHostPort, ...rest } = options;
    this.#bus = bus;
    this.#clock = clock;
    this.#condition = bus.owner(networkCondition);
    this.#networks = new PodNetworks(bus.owner(podNetwork));
    this.bridge = new CniBridge({
      clock,
      ...rest,
      events: {
        ...(onLastHostPort !== undefined && { onLastHostPort }),
        onPlugin: (event) => this.#publishPlugin(event),
        onNetwork: (network) => this.#publishNetwork(network),
        onAttachment: (attachment) => {
          this.#networks.changed(attachment);
          this.#causes.changed(attachment);
          if (attachment.phase === 'unfinished') this.#retryLater();
        },
      },
    });
    // Read when attachments without a sandbox are looked for, which is rare.
    this.#pods = bus.reader(runtimePod, { lazy: true, complete: () => this.#lookAfter(0) });
    this.bridge.usePodCidrs(podCidrs);
    bus.reader(clusterNode, {
      changed: ({ value }) => this.bridge.usePodCidrs(value.podCIDRs.length > 0 ? value.podCIDRs : podCidrs),
    });
    this.#publishNetwork(this.bridge.network);
  }

  /** See {@link CniBridge.recover}; afterwards the networks of all pods are known. */
  async recover(): Promise<void> {
    await this.bridge.recover();
    this.#networks.complete();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
    this.#retry?.();
    this.bridge.stop();
  }

  #lookAfter(ms: number): void {
    this.#timer?.();
    if (this.#stopped) return;
    this.#timer = this.#clock.after(ms, () => {
      void this.#look();
      this.#lookAfter(LOOK_MS);
    });
  }

  /** A runtime sends no further DEL for a removed sandbox, however the last one ended (containerd 2.1). */
  #retryLater(): void {
    if (this.#retry !== undefined || this.#stopped) return;
    this.#retry = this.#clock.after(this.#retryMs, () => {
      this.#retry = undefined;
      this.#retryMs = Math.min(2 * this.#retryMs, LOOK_MS);
      void this.#collect();
    });
  }

  /** Failed removals are logged and retried. */
  async #collect(): Promise<void> {
    const sandboxes = [...this.#pods].flatMap(({ value }) => value.sandboxes.map(({ id }) => id));
    await this.bridge.collect(new Set(sandboxes), this.#clock.now()).catch(() => undefined);
    if (!this.bridge.attachments.some(({ phase }) => phase === 'unfinished')) this.#retryMs = FIRST_RETRY_MS;
  }

  async #look(): Promise<void> {
    await this.#collect();
    // A restarted cri-bridge publishes all pods again; that is no reason to run all plugins.
    if (this.#stopped || this.#clock.now() < this.#checkAt) return;
    this.#checkAt = this.#clock.now() + LOOK_MS;
    this.#networks.checked(await this.bridge.check());
  }

  #publishNetwork({ ready, reason, message, network, file, broken }: NetworkReadiness): void {
    this.#condition.put(KEY, {
      ready,
      ...(!ready && { reason, message }),
      network,
      file,
      broken: broken.map((one) => ({ file: one.file, error: one.error })),
    });
  }

  #publishPlugin(event: PluginEvent): void {
    const { command, containerId = '', ifname = '', network, type, pod, durationMs, ips, error } = event;
    const payload = {
      ...{ command, containerId, ifname, network, plugin: type, what: 'end' as const, durationMs, ips: [...ips] },
      ...(error !== undefined && { error }),
    };
    const causes = this.#causes.of(event);
    const cause = this.#bus.emit(pluginRun, pod?.uid ?? NO_KEY, payload, { causes });
    this.#causes.published(event, cause);
    if (pod !== undefined) this.#networks.ran(pod.uid, { containerId, ifname }, cause);
  }
}
