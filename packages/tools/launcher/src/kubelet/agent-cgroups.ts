import { type CgroupMounts, cgroupOf, emptyRootCgroup, moveProcesses } from '@kubus/cgroup';
import type { KubeletConfiguration } from '@kubus/kubelet-config';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import { LauncherError } from '../errors.ts';

interface AgentCgroupsOptions {
  readonly config: Pick<KubeletConfiguration, 'kubeletCgroups' | 'systemCgroups'>;
  readonly mounts: CgroupMounts;
  readonly clock: Pick<Clock, 'after'>;
  readonly logger: Logger;
  /** The agent. Default: this process. */
  readonly pid?: number;
}

/** Milliseconds (behaviour:qos-and-cgroups). */
const EVERY_MS = 60_000;

/**
 * Keeps the agent and the system's other programs in the cgroups that the configuration names (kubeletCgroups, systemCgroups). The services
 * inherit that of this process. Both cgroups stay when the agent ends, as with the reference.
 */
export class AgentCgroups {
  readonly #options: AgentCgroupsOptions;
  #timer: Cancel | undefined;
  #stopped = false;

  /** @throws LauncherError `NoCgroup` in the reference's words. */
  constructor(options: AgentCgroupsOptions) {
    if (options.config.systemCgroups === '/') {
      throw new LauncherError('NoCgroup', 'Failed to start ContainerManager: system container cannot be root ("/")');
    }
    this.#options = options;
  }

  /** Moves the processes, and again each minute. What fails is logged. Resolves with the agent's cgroup; empty: it is not known. */
  async start(): Promise<string> {
    await this.#keep();
    const { config, mounts, pid = process.pid } = this.#options;
    return config.kubeletCgroups === '' ? ((await cgroupOf(pid, mounts)) ?? '') : config.kubeletCgroups;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
  }

  async #keep(): Promise<void> {
    const { config, mounts, clock, pid = process.pid } = this.#options;
    const { kubeletCgroups: own, systemCgroups: system } = config;
    if (system !== '') await this.#logged(system, () => emptyRootCgroup(mounts, system));
    if (own !== '') await this.#logged(own, () => moveProcesses(mounts, own, [pid]));
    if (own + system === '' || this.#stopped) return;
    this.#timer = clock.after(EVERY_MS, () => void this.#keep());
  }

  async #logged(cgroup: string, action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#options.logger.warn({ containerName: cgroup, err: toError(error) }, 'Failed to ensure state');
    }
  }
}
