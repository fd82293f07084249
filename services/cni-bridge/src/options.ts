import type {
  AttachmentRecord,
  AttachmentState,
  CniCommand,
  CniResult,
  NetworkReadiness,
  PluginRunner,
} from '@kubus/cni-config';
import type { Clock, Logger, RecordStore } from '@kubus/ports';

export interface BridgeLimits {
  /** How many attachments may have a running operation; the others wait in the order of their calls. */
  readonly concurrent: number;
  /** Limit of one plugin, in milliseconds. */
  readonly pluginMs: number;
  /** Limit of a whole chain, in milliseconds since its first plugin started. */
  readonly chainMs: number;
  /** Milliseconds between two STATUS calls, where the network's version has it. */
  readonly statusMs: number;
  /**
   * How old an attachment must be before it may be collected, in milliseconds since its ADD. A runtime lists a sandbox
   * only some time after its network was set up, so this must exceed the longest sandbox creation (the kubelet allows
   * 4 min).
   */
  readonly collectAfterMs: number;
}

/**
 * A chain must end within the shim's 45 s, or the runtime gets "try again later" before the cause is known. Eight at
 * once: on two processors, more take as long and need more memory; with far fewer, each waits for the kernel in turn.
 */
export const DEFAULT_LIMITS: BridgeLimits = {
  concurrent: 8,
  pluginMs: 30_000,
  chainMs: 40_000,
  statusMs: 30_000,
  collectAfterMs: 240_000,
};

/** The pod of an attachment, as the runtime names it. */
export type AttachedPod = NonNullable<AttachmentRecord['pod']>;

/** The call of the runtime that asks for an operation. */
export interface Caller {
  /** Its trace. */
  readonly traceparent?: string | undefined;
  /** Runs the plugins of this call; default: the bridge's own runner. */
  readonly plugins?: Pick<PluginRunner, 'run'> | undefined;
}

/** What a plugin run is about. */
export interface PluginRun {
  readonly type: string;
  readonly command: CniCommand;
  readonly network: string;
  /** Absent for STATUS and GC. */
  readonly containerId?: string | undefined;
  readonly ifname?: string | undefined;
  readonly pod?: AttachedPod | undefined;
  readonly traceparent?: string | undefined;
  /** The message that caused the sandbox, from its annotation. */
  readonly causedBy?: string | undefined;
  /** When it was requested, and when its turn started, in milliseconds since the Unix epoch. */
  readonly askedAt?: number | undefined;
  readonly withStartTime?: number | undefined;
}

/** A plugin run that has ended. Never contains the plugin's input. */
export interface PluginEvent extends PluginRun {
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** The addresses that the interface has after an ADD. */
  readonly ips: readonly string[];
  readonly error?: { readonly code: number; readonly message: string };
}

/** The public state of an attachment. */
export interface AttachmentView {
  readonly containerId: string;
  readonly ifname: string;
  readonly phase: AttachmentState['phase'];
  /** Known in every phase but `absent`. */
  readonly pod?: AttachedPod | undefined;
  readonly netns?: string | undefined;
  readonly network?: string | undefined;
  /** The plugins of its chain, the first one first. */
  readonly plugins?: readonly string[] | undefined;
  /** When ADD was requested, in milliseconds since the Unix epoch. */
  readonly askedAt?: number | undefined;
  /** The message that caused it, from the sandbox's annotation. */
  readonly causedBy?: string | undefined;
  /** The addresses of its interface; empty until ADD has succeeded. */
  readonly ips: readonly string[];
  /** The result of its chain; absent until ADD has succeeded. */
  readonly result?: CniResult | undefined;
  /** Why it could not be removed, in phase `unfinished`. */
  readonly error?: string | undefined;
}

export interface BridgeEvents {
  readonly onPlugin?: (event: PluginEvent) => void;
  /** Called when an attachment enters another phase; `absent` is the last one. */
  readonly onAttachment?: (attachment: AttachmentView) => void;
  /** Called when the last host port that went through these interfaces of the host was removed. */
  readonly onLastHostPort?: (interfaces: readonly string[]) => void;
  /** Called when the readiness or the list of broken files has changed. */
  readonly onNetwork?: (network: NetworkReadiness) => void;
}

export interface CniBridgeOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** One record per attachment. This bridge is its only writer. */
  readonly journal: RecordStore;
  readonly plugins: PluginRunner;
  readonly limits?: Partial<BridgeLimits>;
  readonly events?: BridgeEvents;
}
