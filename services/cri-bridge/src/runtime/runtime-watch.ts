import type { Bus, FactOwner } from '@kubus/bus';
import { type RuntimeCondition, runtimeCondition } from '@kubus/contracts';
import { handlerWithShim } from '@kubus/cni-config';
import { type EventsState, handlersOf } from '@kubus/cri';
import { isDeepEqual } from '@kubus/pod';
import { type Cancel, type Clock, KubusError, type Logger, toError } from '@kubus/ports';
import type { StatusResponse } from '@kubus/proto/cri';
import type { Runtime } from './runtime.ts';

/** Milliseconds between status calls. A lost runtime is seen at once, by the connection. */
const STATUS_MS = 10_000;
const RETRY_MS = 1_000;
/** How long the runtime may take to answer before it counts as not ready: it answers from memory. */
const ANSWER = { deadlineMs: 10_000 };
const KEY = 'runtime';

/** Publishes whether the runtime is ready and what it supports, and knows whether cni-bridge sets up its network. */
export class RuntimeWatch {
  readonly #runtime: Runtime;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #facts: FactOwner<RuntimeCondition>;
  readonly #wantedHandler: string | undefined;
  #podCidrs: readonly string[];
  #handler: string | undefined;
  /** All handlers that the runtime has, if it lists them. */
  #handlers: readonly string[] | undefined;
  /** Resolved once the runtime's features are known; renewed for every connection. */
  #learned = Promise.withResolvers<undefined>();
  #isLearned = false;
  /** Whether the connected runtime has taken the podCIDRs. */
  #hasPodCidrs = false;
  #events: RuntimeCondition['events'] = 'none';
  #version: { name: string; version: string } | undefined;
  /** The condition as it was published last. */
  #published: RuntimeCondition | undefined;
  #timer: Cancel | undefined;
  #stopped = false;

  constructor(options: {
    runtime: Runtime;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    handler: string | undefined;
    podCidrs: readonly string[];
  }) {
    this.#runtime = options.runtime;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#wantedHandler = options.handler;
    this.#podCidrs = options.podCidrs;
    this.#facts = options.bus.owner(runtimeCondition);
  }

  /**
   * The handler to use for a sandbox. The requested one when cni-bridge does not set up the runtime's network;
   * undefined for the runtime's default. Waits until that is known: a sandbox made with the wrong handler has no
   * network, and cannot even be stopped where the runtime has no network of its own. For the same reason it throws
   * `NoRuntimeHandler` when the requested handler is not configured for our network.
   *
   * @param wanted as the pod's RuntimeClass names it; empty for the default one.
   */
  async handler(wanted: string): Promise<string | undefined> {
    await this.#learned.promise;
    if (this.#handler === undefined) return wanted === '' ? undefined : wanted;
    const handler = handlerWithShim(this.#handler, wanted);
    if (this.#handlers?.includes(handler) === false) {
      throw new KubusError(
        'NoRuntimeHandler',
        `the runtime has no handler "${handler}", which handler "${wanted}" needs on this node`,
      );
    }
    return handler;
  }

  /** What is wrong with the runtime, for the service's health; undefined when nothing is. */
  get problem(): string | undefined {
    if (this.#runtime.connection !== 'connected') return 'the container runtime cannot be reached';
    return this.#published?.ready === true ? undefined : 'the container runtime is not ready';
  }

  start(): void {
    this.#runtime.watchConnection((connection) => {
      this.#timer?.();
      if (connection === 'connected') void this.#look();
      if (connection === 'lost') {
        this.#forget();
        this.#publishLost('the runtime cannot be reached');
      }
      // A runtime that accepts connections and never answers is never lost; what an earlier process published must not
      // stand.
      if (connection === 'connecting') {
        this.#timer = this.#clock.after(ANSWER.deadlineMs, () => this.#publishLost('the runtime does not answer'));
      }
    });
  }

  /** Calls `action` when the runtime can be reached for the first time. */
  onceConnected(action: () => void): void {
    let done = false;
    this.#runtime.watchConnection((connection) => {
      if (connection !== 'connected' || done) return;
      done = true;
      action();
    });
  }

  /** Uses these address ranges of the node's pods from now on; sends them to the runtime at once. */
  usePodCidrs(podCidrs: readonly string[]): void {
    if (podCidrs.join() === this.#podCidrs.join()) return;
    this.#podCidrs = podCidrs;
    this.#hasPodCidrs = false;
    if (this.#isLearned) void this.#look();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
  }

  eventsChanged(state: EventsState): void {
    this.#events = state.state === 'streaming' ? state.source : 'none';
    if (this.#published !== undefined) void this.#look();
  }

  async #look(): Promise<void> {
    this.#timer?.();
    let wait = STATUS_MS;
    try {
      if (!this.#isLearned) await this.#learn();
      if (!this.#hasPodCidrs) await this.#sendPodCidrs();
      this.#publish(await this.#runtime.call('Status', {}, ANSWER));
    } catch (error) {
      this.#publishLost(toError(error).message);
      wait = RETRY_MS;
    }
    this.#timer?.();
    if (!this.#stopped) this.#timer = this.#clock.after(wait, () => void this.#look());
  }

  /** Reads what does not change while the runtime runs. */
  async #learn(): Promise<void> {
    const { runtimeName = '', runtimeVersion = '' } = await this.#runtime.call('Version', {}, ANSWER);
    this.#version = { name: runtimeName, version: runtimeVersion };
    if (this.#wantedHandler !== undefined) await this.#learnHandler(this.#wantedHandler);
    this.#isLearned = true;
    this.#learned.resolve(undefined);
  }

  async #learnHandler(wanted: string): Promise<void> {
    const status = await this.#runtime.call('Status', { verbose: true }, ANSWER);
    this.#handlers = handlersOf(status);
    this.#handler = this.#handlers?.includes(wanted) === false ? undefined : wanted;
    if (this.#handler !== undefined) return;
    this.#logger.warn(
      { handler: wanted },
      'the runtime has no such handler: it sets up pod networks itself, and its own condition NetworkReady counts',
    );
  }

  /**
   * A runtime that runs CNI itself makes its network configuration from a template with the node's podCIDRs, joined as
   * the kubelet joins them. They are sent again with the next status call after a failure; the runtime's own network
   * readiness shows whether it needs them.
   */
  async #sendPodCidrs(): Promise<void> {
    const podCidrs = this.#podCidrs;
    if (podCidrs.length > 0 && this.#handler === undefined) {
      const podCidr = podCidrs.join(',');
      try {
        await this.#runtime.call('UpdateRuntimeConfig', { runtimeConfig: { networkConfig: { podCidr } } }, ANSWER);
      } catch (error) {
        this.#logger.warn({ podCidr, err: toError(error) }, 'the runtime refused the podCIDRs');
        return;
      }
    }
    this.#hasPodCidrs = podCidrs === this.#podCidrs;
  }

  /** After a reconnect it may be another runtime. */
  #forget(): void {
    this.#hasPodCidrs = false;
    if (!this.#isLearned) return;
    this.#isLearned = false;
    this.#learned = Promise.withResolvers();
  }

  #publish(response: StatusResponse): void {
    const conditions = response.status?.conditions ?? [];
    const runtime = conditions.find(({ type }) => type === 'RuntimeReady');
    const network = conditions.find(({ type }) => type === 'NetworkReady');
    this.#put({
      ready: runtime?.status === true,
      ...(runtime?.status !== true && { reason: runtime?.reason, message: runtime?.message }),
      ...this.#version,
      network: this.#handler === undefined ? 'runtime' : 'cni-bridge',
      networkReady: network?.status === true,
      ...(network?.reason !== undefined && network.reason !== '' && { networkReason: network.reason }),
      ...(network?.message !== undefined && network.message !== '' && { networkMessage: network.message }),
      ...(response.features !== undefined && {
        strictSupplementalGroups: response.features.supplementalGroupsPolicy === true,
      }),
      ...handlerFeatures(response, this.#handler),
      events: this.#events,
    });
  }

  #publishLost(message: string): void {
    this.#put({
      ready: false,
      reason: 'Unreachable',
      message,
      ...this.#version,
      network: this.#handler === undefined ? 'runtime' : 'cni-bridge',
      networkReady: false,
      events: 'none',
    });
  }

  #put(condition: RuntimeCondition): void {
    if (isDeepEqual(condition, this.#published)) return;
    this.#published = condition;
    this.#facts.put(KEY, condition);
  }
}

/**
 * What pods of each handler can have, by the name that a RuntimeClass gives it.
 *
 * @param own the handler of ours in whose form each other one is used, if the runtime has it
 */
function handlerFeatures({ runtimeHandlers = [] }: StatusResponse, own: string | undefined) {
  if (runtimeHandlers.length === 0) return undefined;
  const features = (name: string) => {
    const used = own === undefined ? name : handlerWithShim(own, name);
    const able = runtimeHandlers.find((one) => (one.name ?? '') === used)?.features;
    return {
      userNamespaces: able?.userNamespaces === true,
      recursiveReadOnlyMounts: able?.recursiveReadOnlyMounts === true,
    };
  };
  return { handlers: Object.fromEntries(runtimeHandlers.map(({ name = '' }) => [name, features(name)])) };
}
