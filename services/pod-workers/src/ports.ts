import type { Pod, PodRef, RuntimeContainer } from '@kubus/contracts';

/** One run of a container: its name in the pod, which run it is, and its id in the runtime. */
export type ContainerRun = Pick<RuntimeContainer, 'name' | 'attempt' | 'id'>;

/** What the runs of containers leave on the node: their logs and termination messages. */
export interface RunFiles {
  /** Container name to the highest attempt that has written a log; empty when there is no log at all. */
  logIndexes(pod: PodRef): Promise<ReadonlyMap<string, number>>;
  /** The end of a container's log, enough of it for a termination message; undefined when there is none. */
  readLogEnd(path: string): Promise<string | undefined>;
  /** Makes the file into which one run of a container writes how it ended, and returns its absolute path. */
  makeTerminationLog(pod: PodRef, container: string, attempt: number): Promise<string>;
  /**
   * What the run has written there; undefined when there is no such file.
   *
   * @param run.terminationLog the file that another agent had made for it; what is no file of the container's own does not count
   */
  readTerminationLog(
    pod: PodRef,
    run: Pick<RuntimeContainer, 'name' | 'attempt' | 'terminationLog'>,
  ): Promise<string | undefined>;
  /**
   * Removes what a run leaves that the runtime does not have any more. The newest log of a container stays, because it
   * tells the number of the next run.
   */
  removeRun(pod: PodRef, run: ContainerRun): Promise<void>;
}

/** The pods' files on the node that this service makes and removes. */
export interface PodFiles extends RunFiles {
  /** Makes the pod's folder. */
  makeFolder(pod: PodRef): Promise<void>;
  /** Makes the folder of a container's logs. The runtime writes into it, but does not make it. */
  makeLogFolder(pod: PodRef, container: string): Promise<void>;
  /** Absolute folder of the pod's logs. */
  logFolder(pod: PodRef): string;
  /** Puts a link to the log of a container's run where log collectors look (kubelet behaviour 1.7). */
  linkLog(pod: PodRef, run: ContainerRun): Promise<void>;
  /**
   * Writes the pod's hosts file and gives its path, for the mount over a container's /etc/hosts. To be called before each
   * start of a container: the pod may have other addresses since the last one (kubelet behaviour 1.15).
   */
  writeHostsFile(pod: Pod, podIps: readonly string[]): Promise<string>;
  /** The content of the file that gives pods the node's own name resolution; undefined when none is configured. */
  readResolvConf(): Promise<string | undefined>;
  /**
   * Removes everything of the pod. Harmless when there is nothing. Throws a KubusError `still-mounted` when something is
   * mounted there: what it shows is not the pod's to remove.
   */
  remove(pod: PodRef): Promise<void>;
}

/** The pods' cgroups. */
export interface PodCgroups {
  /** The pod's cgroup as the runtime takes it, such as `/kubepods/besteffort/pod<uid>`. */
  parent(uid: string, qos: string): string;
  /** Makes the pod's cgroup with the limits that it is to have now. Costs nothing where all is as it should be. */
  ensure(pod: Pick<Pod, 'metadata' | 'spec'>, qos: string): Promise<void>;
  /** Bytes of memory that the pod uses now; undefined when that can not be read. */
  memoryUsage(uid: string, qos: string): Promise<bigint | undefined>;
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
