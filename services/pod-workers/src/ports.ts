import type { PodRef } from '@kubus/contracts';

/** What the runs of containers leave on the node: their logs and termination messages. */
export interface RunFiles {
  /** Container name to the highest attempt that has written a log; empty when there is no log at all. */
  logIndexes(pod: PodRef): Promise<ReadonlyMap<string, number>>;
  /** The end of a container's log, enough of it for a termination message; undefined when there is none. */
  readLogEnd(path: string): Promise<string | undefined>;
  /** Makes the file into which one run of a container writes how it ended, and returns its absolute path. */
  makeTerminationLog(pod: PodRef, container: string, attempt: number): Promise<string>;
  /** What the run has written there; undefined when there is no such file. */
  readTerminationLog(pod: PodRef, container: string, attempt: number): Promise<string | undefined>;
  /**
   * Removes what a run leaves that the runtime does not have any more. The newest log of a container stays, because it
   * tells the number of the next run.
   */
  removeRun(pod: PodRef, container: string, attempt: number): Promise<void>;
}

/** The pods' files on the node that this service makes and removes. */
export interface PodFiles extends RunFiles {
  /** Makes the folder of a container's logs. The runtime writes into it, but does not make it. */
  makeLogFolder(pod: PodRef, container: string): Promise<void>;
  /** Absolute folder of the pod's logs. */
  logFolder(pod: PodRef): string;
  /**
   * Removes everything of the pod. Harmless when there is nothing. Throws a KubusError `still-mounted` when something is
   * mounted there: what it shows is not the pod's to remove.
   */
  remove(pod: PodRef): Promise<void>;
}

/** The pods' cgroups. The runtime makes one when its first container needs it; nobody but us removes it. */
export interface PodCgroups {
  /** The pod's cgroup as the runtime takes it, such as `/kubepods/besteffort/pod<uid>`. */
  parent(uid: string, qos: string): string;
  /** Removes the pod's cgroup, whatever its class was. Harmless when there is none. */
  remove(uid: string): Promise<void>;
}

/** A request of a container's httpGet handler. */
export interface HookRequest {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** With its query; it may lack the leading slash. */
  readonly path: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}

/** Makes the requests of httpGet handlers. */
export interface HookRequests {
  /**
   * Resolves when there is an answer, whatever it says; `fellBack` when it came over http though https was asked for.
   * Rejects with an error of Node's when there is none.
   */
  get(request: HookRequest, signal: AbortSignal): Promise<{ readonly fellBack: boolean }>;
}
