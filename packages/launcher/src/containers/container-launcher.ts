import { readSeed } from '@kubus/bus-nats';
import type { AdjustableLogger, NodeConfig } from '@kubus/service-kit';
import { LauncherError } from '../errors.ts';
import { ServiceProcesses, launcherInstance } from '../service-processes.ts';
import type { ContainerDir } from './container-dir.ts';
import { findRemoteProcess } from './remote-process.ts';

export interface ContainerLauncherOptions {
  readonly dir: ContainerDir;
  readonly config: NodeConfig;
  readonly logger: AdjustableLogger;
}

/**
 * The launcher's own part of a node whose services run in containers: makes the streams, tells who shares the pods, does what
 * people ask for on the bus. Each service is kept running by process 1 of its own container, which this one asks.
 */
export class ContainerLauncher {
  readonly #options: ContainerLauncherOptions;
  readonly #processes: ServiceProcesses;
  readonly #stopping = new AbortController();

  /** Throws `SlotTaken` when the node has a launcher already. */
  constructor(options: ContainerLauncherOptions) {
    const { dir, config, logger } = options;
    const { instances, apiServer, observatory } = config;
    this.#options = options;
    this.#processes = new ServiceProcesses({
      dir,
      logger,
      shape: { hosted: false, instances, kubeconfig: apiServer?.kubeconfig, observatory: observatory !== undefined },
      elsewhere: [],
      start: (name) => findRemoteProcess(dir.control(name), this.#stopping.signal),
      scale: () => {
        const message = 'how many instances a node of containers has stands in its overlay: instances';
        return Promise.reject(new LauncherError('NotScalable', message));
      },
    });
  }

  async start(): Promise<void> {
    const { url, tls, identities } = this.#options.config.nats;
    this.#processes.startServices();
    await this.#processes.joinBus({ url, tls, seed: await readSeed(identities, launcherInstance) });
  }

  /** Ends the launcher's own part; the services go on. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#processes.stop();
  }
}
