import { CniCode, CniError, parseError } from './cni-error.ts';
import { isAtLeast } from './cni-version.ts';
import type { JsonObject } from './json.ts';
import { type NetworkConfig, type PluginConfig, declaredCapabilities } from './network-config.ts';
import { type CniResult, excerpt, formatResult } from './result.ts';

export type CniCommand = 'ADD' | 'DEL' | 'CHECK' | 'VERSION' | 'STATUS' | 'GC';

/** One run of a plugin's program. */
export interface PluginCall {
  /** Name of the program in the plugin folders. */
  readonly type: string;
  /** The protocol's environment variables; the runner adds CNI_PATH, which only it knows. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  /** Milliseconds after which the program and all its children are killed. */
  readonly timeoutMs: number;
}

/** How a plugin's program ended. */
export interface PluginOutput {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs plugins. Nothing else starts their programs. */
export interface PluginRunner {
  /**
   * Runs the program to its end.
   *
   * @throws CniError when it cannot be started, does not end in time, or prints too much. Its processes have ended then.
   */
  run(call: PluginCall): Promise<PluginOutput>;
  /**
   * Ends the processes that an earlier epoch of this owner left running. Resolves with their number when they have
   * ended.
   */
  endStrays(): Promise<number>;
}

/** What identifies an attachment: the protocol's key of ADD, DEL and CHECK. */
export interface AttachmentKey {
  readonly containerId: string;
  readonly ifname: string;
}

/** What a plugin's standard input is built from. */
export interface PluginInput {
  readonly network: NetworkConfig;
  readonly plugin: PluginConfig;
  /** Capability arguments of the runtime by name (portMappings, bandwidth, dns, ipRanges, mac, ...). */
  readonly capabilityArgs?: JsonObject | undefined;
  readonly prevResult?: CniResult | undefined;
  /** GC only: the valid attachments. */
  readonly validAttachments?: readonly AttachmentKey[] | undefined;
}

/**
 * The execution configuration of one plugin (CNI SPEC.md, section 5): its own configuration without `capabilities`, with
 * the network's name and version, the capability arguments that it declares, and the result so far.
 */
export function pluginStdin({ network, plugin, capabilityArgs, prevResult, validAttachments }: PluginInput): string {
  const { capabilities: _, ...config } = plugin;
  const wanted = declaredCapabilities(plugin).filter((name) => capabilityArgs?.[name] !== undefined);
  return JSON.stringify({
    ...config,
    name: network.name,
    cniVersion: network.cniVersion,
    ...(wanted.length > 0 && {
      runtimeConfig: Object.fromEntries(wanted.map((name) => [name, capabilityArgs?.[name]])),
    }),
    ...(prevResult !== undefined && { prevResult: formatResult(prevResult, network.cniVersion) }),
    ...(validAttachments !== undefined && {
      'cni.dev/valid-attachments': validAttachments.map(({ containerId, ifname }) => ({
        containerID: containerId,
        ifname,
      })),
    }),
  });
}

/** The capability arguments that some plugin of the network declares: the others need not be kept. */
export function declaredArgs(network: NetworkConfig, capabilityArgs: JsonObject): JsonObject {
  const declared = new Set(network.plugins.flatMap(declaredCapabilities));
  return Object.fromEntries(Object.entries(capabilityArgs).filter(([name]) => declared.has(name)));
}

/**
 * What the node itself passes to plugins that declare it: `ipRanges`, built from the pod address ranges `podCidrs`, with
 * one set of ranges per entry, so that a pod gets an address of each (host-local, CNI CONVENTIONS.md).
 */
export function nodeArgs(podCidrs: readonly string[]): JsonObject {
  return podCidrs.length === 0 ? {} : { ipRanges: podCidrs.map((subnet) => [{ subnet }]) };
}

/** The environment of ADD, DEL and CHECK (CNI SPEC.md, section 2). */
export function pluginEnv(
  command: CniCommand,
  target: AttachmentKey & { readonly netns: string; readonly args: string },
): Record<string, string> {
  return {
    CNI_COMMAND: command,
    CNI_CONTAINERID: target.containerId,
    CNI_NETNS: target.netns,
    CNI_IFNAME: target.ifname,
    CNI_ARGS: target.args,
  };
}

/** Whether the result of ADD is passed to CHECK and DEL in the network's version (since 0.4.0). */
export function passesResultOn(network: NetworkConfig): boolean {
  return isAtLeast(network.cniVersion, '0.4.0');
}

/** Whether the network's plugins support STATUS and GC (since 1.1.0). */
export function knowsStatusAndGc(network: NetworkConfig): boolean {
  return isAtLeast(network.cniVersion, '1.1.0');
}

/**
 * Checks how a plugin ended.
 *
 * @throws CniError with the plugin's own code and text when it failed; with code 999, and what it printed as details, when
 * it failed without a CNI error.
 */
export function requireSuccess(type: string, command: CniCommand, output: PluginOutput): void {
  if (output.exitCode === 0) {
    return;
  }
  const printed = parseError(output.stdout);
  if (printed !== undefined) {
    const details = [printed.details, excerpt(output.stderr)].filter((text) => text !== '').join('; ');
    throw new CniError(printed.cniCode, `plugin ${type} failed (${command}): ${printed.message}`, { details });
  }
  const said = [output.stderr, output.stdout].map(excerpt).filter((text) => text !== '');
  throw new CniError(
    CniCode.internal,
    `plugin ${type} failed (${command}) with exit code ${output.exitCode} and without a CNI error`,
    { details: said.join('; ') },
  );
}
