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
  /** How many attachments are worked on at once; the others wait in the order of their calls. */
  readonly concurrent: number;
  /** Milliseconds that one plugin may take. */
  readonly pluginMs: number;
  /** Milliseconds that a whole chain may take, from its first plugin on. */
  readonly chainMs: number;
  /** Milliseconds between two asks for the plugins' STATUS, where the network's version has it. */
  readonly statusMs: number;
  /**
   * Milliseconds after its ADD before an attachment may be collected. A runtime lists a sandbox only some time after its
   * network was made, so this must be more than the longest creation of a sandbox (the kubelet gives it 4 min).
   */
  readonly collectAfterMs: number;
}

/**
 * A chain must end within the shim's 45 s, or the runtime is told "try again later" before the cause is known. Eight at
 * once: on two processors more take as long and need more memory, and much fewer wait for the kernel in turn.
 */
export const DEFAULT_LIMITS: BridgeLimits = {
  concurrent: 8,
  pluginMs: 30_000,
  chainMs: 40_000,
  statusMs: 30_000,
  collectAfterMs: 240_000,
};

/** The pod that an attachment belongs to, as the runtime told it. */
export type AttachedPod = NonNullable<AttachmentRecord['pod']>;

/** Who asks for something: the call of the runtime that is being done. */
export interface Caller {
  /** The trace that it belongs to. */
  readonly traceparent?: string | undefined;
  /** Runs the plugins of this call; the bridge's own runner does where there is none. */
  readonly plugins?: Pick<PluginRunner, 'run'> | undefined;
}

/** What a run of a plugin is about. */
export interface PluginRun {
  readonly type: string;
  readonly command: CniCommand;
  readonly network: string;
  /** Absent for STATUS and GC. */
  readonly containerId?: string | undefined;
  readonly ifname?: string | undefined;
  readonly pod?: AttachedPod | undefined;
  readonly traceparent?: string | undefined;
  /** The message because of which the sandbox is there, as that carries it. */
  readonly causedBy?: string | undefined;
  /** When it was asked for, and when its turn had come: milliseconds since the Unix epoch. */
  readonly askedAt?: number | undefined;
  readonly begunAt?: number | undefined;
}

/** Begin and end of a plugin's run. It never holds what the plugin was given. */
export type PluginEvent = PluginRun & {
  /** Counts this bridge's runs: the same for `begin` and `end`. */
  readonly run: number;
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
} & (
    | { readonly phase: 'begin' }
    | {
        readonly phase: 'end';
        readonly durationMs: number;
        /** The addresses that the interface has after an ADD. */
        readonly ips: readonly string[];
        readonly error?: { readonly code: number; readonly message: string };
      }
  );

/** An attachment as others may see it. */
export interface AttachmentView {
  readonly containerId: string;
  readonly ifname: string;
  readonly phase: AttachmentState['phase'];
  /** What is known of it in every phase but `absent`. */
  readonly pod?: AttachedPod | undefined;
  readonly netns?: string | undefined;
  readonly network?: string | undefined;
  /** The plugins of its chain, the first one first. */
  readonly plugins?: readonly string[] | undefined;
  /** When ADD was asked: milliseconds since the Unix epoch. */
  readonly askedAt?: number | undefined;
  /** The message because of which it was, as the sandbox carries it. */
  readonly causedBy?: string | undefined;
  /** The addresses of its interface; empty until ADD has succeeded. */
  readonly ips: readonly string[];
  /** What its chain has made; absent until ADD has succeeded. */
  readonly result?: CniResult | undefined;
  /** Why it could not be removed, in phase `unfinished`. */
  readonly error?: string | undefined;
}

export interface BridgeEvents {
  readonly onPlugin?: (event: PluginEvent) => void;
  /** Called when an attachment enters another phase; `absent` is the last one. */
  readonly onAttachment?: (attachment: AttachmentView) => void;
  /** Called when the readiness, or the list of broken files, has changed. */
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
