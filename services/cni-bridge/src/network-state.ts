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
import type { Cancel, Clock, Logger } from '@kubus/ports';
import type { BridgeEvents } from './options.ts';
import { type PluginSteps, networkStep } from './plugin-steps.ts';

export interface NetworkStateOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly steps: PluginSteps;
  /** Milliseconds between two asks for the plugins' STATUS. */
  readonly statusMs: number;
  readonly onNetwork?: BridgeEvents['onNetwork'];
}

/** The network in use and whether pods can get it. */
export class NetworkState {
  readonly #options: NetworkStateOptions;
  #config: ChosenConfig = { network: undefined, broken: [] };
  #recovered = false;
  #status: CniError | undefined;
  #told: string | undefined;
  #cancelStatus: Cancel | undefined;
  #stopped = false;

  constructor(options: NetworkStateOptions) {
    this.#options = options;
  }

  /** The network that new attachments get. */
  get config(): NetworkConfig | undefined {
    return this.#config.network;
  }

  get readiness(): NetworkReadiness {
    return networkReadiness({ recovered: this.#recovered, config: this.#config, status: this.#status });
  }

  /** Takes the configuration folder's files as they are now. */
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
    if (JSON.stringify(network) !== JSON.stringify(before.network)) {
      logger.info({ network: network?.name, file: network?.file }, 'the network configuration has changed');
      this.#askStatus(network);
    }
    this.#tell();
  }

  /** The attachments of the last life are known: ADD can be served. */
  setRecovered(): void {
    this.#recovered = true;
    this.#tell();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelStatus?.();
  }

  /** Asks the plugins now and then from time to time, as long as this network is in use. */
  #askStatus(network: NetworkConfig | undefined): void {
    this.#cancelStatus?.();
    this.#cancelStatus = undefined;
    if (network === undefined || !knowsStatusAndGc(network)) {
      this.#status = undefined;
      return;
    }
    this.#status = new CniError(
      CniCode.notAvailable,
      `the plugins of network ${network.name} have not told their status yet`,
    );
    const ask = async () => {
      const status = await this.#statusOf(network);
      if (this.#config.network === network && !this.#stopped) {
        this.#status = status;
        this.#tell();
        this.#cancelStatus = this.#options.clock.after(this.#options.statusMs, () => void ask());
      }
    };
    void ask();
  }

  /** What the first plugin says that is not available; undefined when all are. */
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

  #tell(): void {
    const { readiness } = this;
    const told = JSON.stringify(readiness);
    if (told !== this.#told) {
      this.#told = told;
      this.#options.onNetwork?.(readiness);
    }
  }
}
