import type { CniError } from './cni-error.ts';
import type { BrokenConfig, ChosenConfig } from './network-config.ts';

/** Whether pods can get a network, in the terms of the runtime's NetworkReady condition. */
export interface NetworkReadiness {
  readonly ready: boolean;
  /** Empty when ready; otherwise one word, as in the condition. */
  readonly reason: string;
  /** Empty when ready; otherwise the condition's message. */
  readonly message: string;
  /** Name of the network in use. */
  readonly network?: string | undefined;
  /** The file that defines it. */
  readonly file?: string | undefined;
  /** Files that were skipped, and why. */
  readonly broken: readonly BrokenConfig[];
}

export interface ReadinessInputs {
  /** Whether the attachments of the last run have been read; before that no ADD can be served. */
  readonly recovered: boolean;
  readonly config: ChosenConfig;
  /** The plugins' last STATUS, where the network's version has STATUS. */
  readonly status?: CniError | undefined;
}

/**
 * The network's readiness, with the reason and texts of containerd's CRI Status (which the kubelet shows on the Node as
 * "container runtime network not ready: NetworkReady=false reason:... message:...").
 */
export function networkReadiness({ recovered, config, status }: ReadinessInputs): NetworkReadiness {
  const { network, broken } = config;
  const problem =
    network === undefined
      ? 'cni plugin not initialized'
      : recovered
        ? status?.message
        : 'the attachments of the last run are not read yet';
  return {
    ready: problem === undefined,
    reason: problem === undefined ? '' : 'NetworkPluginNotReady',
    message: problem === undefined ? '' : `Network plugin returns error: ${problem}`,
    network: network?.name,
    file: network?.file,
    broken,
  };
}
