import {
  type AttachmentKey,
  CniCode,
  CniError,
  type CniResult,
  type NetworkConfig,
  type Operation,
  type PluginConfig,
  type PluginOutput,
  type PluginRunner,
  addressesOf,
  parseResult,
  pluginEnv,
  pluginStdin,
  requireSuccess,
  toCniError,
} from '@kubus/cni-config';
import type { Clock } from '@kubus/ports';
import type { BridgeEvents, BridgeLimits, Caller, PluginRun } from './options.ts';

/** One run of a plugin, and how to parse its output when it succeeds. */
export interface PluginStep<Result> {
  readonly subject: PluginRun;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  /** Throws a CniError when the output violates the protocol. */
  readonly read: (output: PluginOutput) => Result;
  /** The addresses in a result. */
  readonly ipsOf?: (result: Result) => readonly string[];
}

export interface PluginStepsOptions {
  readonly clock: Clock;
  readonly plugins: PluginRunner;
  readonly limits: Pick<BridgeLimits, 'pluginMs' | 'chainMs'>;
  readonly onPlugin?: BridgeEvents['onPlugin'];
}

/** Runs single plugins: applies time limits, checks their results, and reports events about them. */
export class PluginSteps {
  readonly #options: PluginStepsOptions;

  constructor(options: PluginStepsOptions) {
    this.#options = options;
  }

  /** The deadline of a chain that starts now, in milliseconds since the Unix epoch. */
  chainDeadline(): number {
    return this.#options.clock.now() + this.#options.limits.chainMs;
  }

  /**
   * Runs a plugin, by `plugins` if the call brings its own runner, and parses its output.
   *
   * @throws CniError when it fails, or does not end before its own limit or the chain's `deadline`
   */
  async run<Result>(
    step: PluginStep<Result>,
    deadline: number,
    plugins: Caller['plugins'] = this.#options.plugins,
  ): Promise<Result> {
    const { clock, onPlugin } = this.#options;
    const startedAt = clock.now();
    const subject = { ...step.subject, startedAt };
    try {
      const result = step.read(await this.#execute(step, plugins, deadline - startedAt));
      const ips = step.ipsOf?.(result) ?? [];
      onPlugin?.({ ...subject, durationMs: clock.now() - startedAt, ips });
      return result;
    } catch (thrown) {
      const error = toCniError(thrown);
      const { cniCode: code, message } = error;
      onPlugin?.({ ...subject, durationMs: clock.now() - startedAt, ips: [], error: { code, message } });
      throw error;
    }
  }

  async #execute<Result>(
    { subject, env, stdin }: PluginStep<Result>,
    plugins: Pick<PluginRunner, 'run'>,
    leftMs: number,
  ): Promise<PluginOutput> {
    const { limits } = this.#options;
    const { type, command, traceparent } = subject;
    if (leftMs <= 0) {
      throw new CniError(CniCode.tryAgainLater, `the chain timed out after ${limits.chainMs / 1000} s`);
    }
    const output = await plugins.run({
      type,
      env: { CNI_COMMAND: command, ...env, ...(traceparent !== undefined && { TRACEPARENT: traceparent }) },
      stdin,
      timeoutMs: Math.min(limits.pluginMs, leftMs),
    });
    requireSuccess(type, command, output);
    return output;
  }
}

/** The run of one plugin of an attachment's chain; ADD has a result, the other commands have none. */
export function attachmentStep(
  { command, index, record, prevResult }: Extract<Operation, { kind: 'plugin' }>,
  { traceparent, askedAt, withStartTime }: Pick<PluginRun, 'traceparent' | 'askedAt' | 'withStartTime'>,
): PluginStep<CniResult | undefined> {
  const { network, capabilityArgs, containerId, ifname, pod, causedBy } = record;
  const plugin = network.plugins[index];
  if (plugin === undefined) {
    throw new CniError(CniCode.internal, `network ${network.name} has no plugin number ${index}`);
  }
  return {
    subject: {
      ...{ type: plugin.type, command, network: network.name, containerId, ifname, pod },
      ...{ traceparent, causedBy, askedAt, withStartTime },
    },
    env: pluginEnv(command, record),
    stdin: pluginStdin({ network, plugin, capabilityArgs, prevResult }),
    read: ({ stdout }) => (command === 'ADD' ? parseResult(stdout, network.cniVersion) : undefined),
    ipsOf: (result) => (result === undefined ? [] : addressesOf(result, ifname)),
  };
}

/** The run of one plugin for its whole network: STATUS, or GC with the valid attachments. */
export function networkStep(
  command: 'STATUS' | 'GC',
  network: NetworkConfig,
  plugin: PluginConfig,
  validAttachments?: readonly AttachmentKey[],
): PluginStep<void> {
  return {
    subject: { type: plugin.type, command, network: network.name },
    env: {},
    stdin: pluginStdin({ network, plugin, validAttachments }),
    read: () => undefined,
  };
}
