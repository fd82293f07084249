import type { Pod, PodRef, RuntimeContainer } from '@kubus/contracts';

/** One run of a container: its name in the pod, the attempt, and its ID in the runtime. */
export type ContainerRun = Pick<RuntimeContainer, 'name' | 'attempt' | 'id'>;

/** The files that the runs of containers leave on the node: their logs and termination messages. */
export interface RunFiles {
  /** Container name to the highest attempt that has written a log; empty when no log exists. */
  logIndexes(pod: PodRef): Promise<ReadonlyMap<string, number>>;
  /** The end of a container's log, long enough for a termination message; undefined when there is no log. */
  readLogEnd(path: string): Promise<string | undefined>;
  /** Creates the file into which one run of a container writes its termination message, and returns its absolute path. */
  makeTerminationLog(pod: PodRef, container: string, attempt: number): Promise<string>;
  /**
   * What the run has written there; undefined when the file does not exist.
   *
   * @param run.terminationLog the file that another agent created for it; ignored when it is not in the container's own folder
   */
  readTerminationLog(
    pod: PodRef,
    run: Pick<RuntimeContainer, 'name' | 'attempt' | 'terminationLog'>,
  ): Promise<string | undefined>;
  /**
   * Removes the files of a run that the runtime has removed. The newest log of a container stays, because the number of the
   * next run follows from it.
   */
  removeRun(pod: PodRef, run: ContainerRun): Promise<void>;
}

/** The pods' files on the node that this service creates and removes. */
export interface PodFiles extends RunFiles {
  /** Creates the pod's folder. */
  makeFolder(pod: PodRef): Promise<void>;
  /** Creates the folder of a container's logs. The runtime writes into it, but does not create it. */
  makeLogFolder(pod: PodRef, container: string): Promise<void>;
  /** Absolute folder of the pod's logs. */
  logFolder(pod: PodRef): string;
  /** Creates a link to the log of a container's run where log collectors look (behaviour:labels-paths-logs). */
  linkLog(pod: PodRef, run: ContainerRun): Promise<void>;
  /**
   * Writes the pod's hosts file and returns its path, for the mount over a container's /etc/hosts. Call it before each
   * start of a container: the pod's addresses may have changed since (behaviour:environment-and-dns).
   */
  writeHostsFile(pod: Pod, podIps: readonly string[]): Promise<string>;
  /** The content of the file that gives pods the node's own DNS configuration; undefined when none is configured. */
  readResolvConf(): Promise<string | undefined>;
  /** Removes all logs of the pod, and the links to them. Does nothing when there are none. */
  removeLogs(pod: PodRef): Promise<void>;
  /**
   * Removes all files of the pod. Does nothing when there are none. Throws a KubusError `still-mounted` when something is
   * mounted there: mounted content does not belong to the pod.
   */
  remove(pod: PodRef): Promise<void>;
}

/** The pods' cgroups. */
export interface PodCgroups {
  /** The pod's cgroup in the notation of the runtime, such as `/kubepods/besteffort/pod<uid>`. */
  parent(uid: string, qos: string): string;
  /** Creates the pod's cgroup with its current limits. Cheap when it already has them. */
  ensure(pod: Pick<Pod, 'metadata' | 'spec'>, qos: string): Promise<void>;
  /** Memory usage of the pod in bytes; undefined when it cannot be read. */
  memoryUsage(uid: string, qos: string): Promise<bigint | undefined>;
  /** Removes the pod's cgroup, whatever its QoS class was. Does nothing when it does not exist. */
  remove(uid: string): Promise<void>;
}

/** A request of a container's httpGet handler. */
export interface HookRequest {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** With its query; the leading slash may be missing. */
  readonly path: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}

/** Sends the requests of httpGet handlers. */
export interface HookRequests {
  /**
   * Resolves with a response, whatever its status; `fellBack` when it came over http although https was requested.
   * Rejects with an error of Node.js when there is no response.
   */
  get(request: HookRequest, signal: AbortSignal): Promise<{ readonly fellBack: boolean }>;
}
