import {
  type ChosenConfig,
  CniCode,
  CniError,
  type ConfigFile,
  type NetworkConfig,
  type NetworkReadiness,
  chooseConfig,
  knowsStatusAndGc,
  networkReadiness,
  toCniError,
} from '@kubus/cni-config';
import { isDeepEqual } from '@kubus/pod';
import type { Cancel, Clock, Logger } from '@kubus/ports';
import type { BridgeEvents } from './options.ts';
import { type PluginSteps, networkStep } from './plugin-steps.ts';

export interface NetworkStateOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly steps: PluginSteps;
  /** Milliseconds between two STATUS calls of the plugins. */
  readonly statusMs: number;
  readonly onNetwork?: BridgeEvents['onNetwork'];
}

/** The network in use, and whether pods can get it. */
export class NetworkState {
  readonly #options: NetworkStateOptions;
  #config: ChosenConfig = { network: undefined, broken: [] };
  #recovered = false;
  #status: CniError | undefined;
  #published: string | undefined;
  #cancelStatus: Cancel | undefined;
  #stopped = false;

  constructor(options: NetworkStateOptions) {
    this.#options = options;
  }

  /** The network of new attachments. */
  get config(): NetworkConfig | undefined {
    return this.#config.network;
  }

  get readiness(): NetworkReadiness {
    return networkReadiness({ recovered: this.#recovered, config: this.#config, status: this.#status });
  }

  /** Takes the current files of the configuration folder. */
  useFiles(files: readonly ConfigFile[]): void {
    const { logger } = this.#options;
    const before = this.#config;
    this.#config = chooseConfig(files);
    const known = new Set(before.broken.map(({ error }) => error));
    for (const { file, error } of this.#config.broken) {
      if (!known.has(error)) {
        logger.warn({ file }, `a network configuration is skipped: ${error}`);
      }
    }
    const { network } = this.#config;
    if (!isDeepEqual(network, before.network)) {
      logger.info({ network: network?.name, file: network?.file }, 'network configuration changed');
      this.#askStatus(network);
    }
    this.#publish();
  }

  /** The attachments of the previous process are known: ADD can be served. */
  setRecovered(): void {
    this.#recovered = true;
    this.#publish();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelStatus?.();
  }

  /** Runs STATUS of the plugins now and periodically, while this network is in use. */
  #askStatus(network: NetworkConfig | undefined): void {
    this.#cancelStatus?.();
    this.#cancelStatus = undefined;
    if (network === undefined || !knowsStatusAndGc(network)) {
      this.#status = undefined;
      return;
    }
    this.#status = new CniError(
      CniCode.notAvailable,
      `the plugins of network ${network.name} have not reported their status yet`,
    );
    const ask = async () => {
      const status = await this.#statusOf(network);
      if (this.#config.network === network && !this.#stopped) {
        this.#status = status;
        this.#publish();
        this.#cancelStatus = this.#options.clock.after(this.#options.statusMs, () => void ask());
      }
    };
    void ask();
  }

  /** The first error of a plugin's STATUS; undefined when all plugins are available. */
  async #statusOf(network: NetworkConfig): Promise<CniError | undefined> {
    const { steps } = this.#options;
    const deadline = steps.chainDeadline();
    try {
      for (const plugin of network.plugins) {
        await steps.run(networkStep('STATUS', network, plugin), deadline);
      }
      return undefined;
    } catch (error) {
      return toCniError(error);
    }
  }

  #publish(): void {
    const { readiness } = this;
    const text = JSON.stringify(readiness);
    if (text !== this.#published) {
      this.#published = text;
      this.#options.onNetwork?.(readiness);
    }
  }
}
