import type { AdjustableLogger, NodeConfig } from '@kubus/service-kit';
import { LauncherError } from '../errors.ts';
import { ServiceProcesses } from '../processes/service-processes.ts';
import type { ContainerDir } from './container-dir.ts';
import { findRemoteProcess } from './remote-process.ts';

/** What {@link ContainerLauncher} needs. */
export interface ContainerLauncherOptions {
  readonly dir: ContainerDir;
  readonly config: NodeConfig;
  readonly logger: AdjustableLogger;
}

/**
 * The launcher of a node whose services run in containers: creates the streams, publishes which instances share the pods, and serves the
 * launcher's commands. Each service is kept running by process 1 of its own container, which this one controls through its socket.
 */
export class ContainerLauncher {
  readonly #options: ContainerLauncherOptions;
  readonly #processes: ServiceProcesses;
  readonly #stopping = new AbortController();

  /** Throws `SlotTaken` when another launcher of the node is running. */
  constructor(options: ContainerLauncherOptions) {
    const { dir, config, logger } = options;
    const { placement, instances, journal, apiServer, observatory } = config;
    this.#options = options;
    this.#processes = new ServiceProcesses({
      dir,
      logger,
      shape: {
        placement,
        instances,
        kubeconfig: apiServer?.kubeconfig,
        observatory: observatory !== undefined,
      },
      elsewhere: [],
      journal,
      movable: false,
      start: (name) => findRemoteProcess(dir.control(name), this.#stopping.signal),
      scale: () => {
        const message =
          'the number of instances of a node in containers is set in its overlay (instances): change it there and run install again';
        return Promise.reject(new LauncherError('NotScalable', message));
      },
    });
  }

  /** Connects to the services' containers and to the bus. */
  async start(): Promise<void> {
    this.#processes.startServices();
    await this.#processes.joinBus(this.#options.config.nats);
  }

  /** Ends the launcher; the services keep running. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#processes.stop();
  }
}
