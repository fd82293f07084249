import { hostNetworkHostsFile, podHostname, podHostsFile } from '@kubus/container-config';
import { logFolder } from '@kubus/pod';
import type { Pod, PodRef } from '@kubus/contracts';
import { NotRegular, readRegular, removeTree, replaceRegular } from '@kubus/filesystem';
import { podFolder } from '@kubus/volume';
import { mkdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { linkLog, removeLogLinks } from '../logs/log-links.ts';
import type { PodFiles } from '../ports.ts';
import { readNodeHosts, readResolvConf } from './node-files.ts';
import { createRunFiles } from './run-files.ts';

export interface PodFilesOptions {
  /** The node's folder for pods. */
  readonly root: string;
  /** The folder of the pods' logs. */
  readonly logs: string;
  /** The folder of links to the logs. Omitted: there are no links. */
  readonly logLinks?: string | undefined;
  /** The cluster's domain; empty when there is none. */
  readonly clusterDomain: string;
  /** The file with the node's DNS configuration; empty: pods get none of it. */
  readonly resolvConf: string;
}

/** The pods' files on this machine. */
export function createPodFiles(options: PodFilesOptions): PodFiles {
  const { clusterDomain, logLinks, resolvConf } = options;
  const folder = (pod: PodRef) => join(options.logs, logFolder(pod));
  const removeLogs = async (pod: PodRef) => {
    await removeTree(join(await realpath(options.logs).catch(() => options.logs), logFolder(pod)));
    if (logLinks !== undefined) await removeLogLinks(logLinks, pod, folder(pod));
  };
  return {
    ...createRunFiles(options),
    makeFolder: async ({ uid }) => {
      await mkdir(podFolder(options.root, uid), { recursive: true, mode: 0o750 });
    },
    logFolder: folder,
    linkLog: async (pod, { name, attempt, id }) => {
      const log = join(folder(pod), name, `${attempt}.log`);
      if (logLinks !== undefined) await linkLog(logLinks, { pod, container: name, id, log });
    },
    writeHostsFile: (pod, podIps) => writeHostsFile(options.root, pod, { podIps, clusterDomain }),
    readResolvConf: () => readResolvConf(resolvConf),
    makeLogFolder: async (pod, container) => {
      await mkdir(join(folder(pod), container), { recursive: true, mode: 0o755 });
    },
    removeLogs,
    remove: async (pod) => {
      // Links are resolved, as in the list of mounts: with a link in the path, mounts below it would not be found.
      const own = podFolder(await realpath(options.root).catch(() => options.root), pod.uid);
      await removeLogs(pod);
      await removeTree(own);
    },
  };
}

/** What a pod's hosts file is made from. */
interface HostsFileInput {
  /** The pod's own addresses; not used for a pod in the host's network. */
  readonly podIps: readonly string[];
  readonly clusterDomain: string;
}

/**
 * Writes the pod's hosts file into its folder and returns its path, for the mount over a container's /etc/hosts. Call it
 * before each start of a container: the pod's addresses may have changed since (behaviour:environment-and-dns).
 * Running containers keep the file that they were started with.
 *
 * @param root the node's folder for pods
 */
async function writeHostsFile(root: string, pod: Pod, input: HostsFileInput): Promise<string> {
  const path = join(podFolder(root, pod.metadata.uid), 'etc-hosts');
  const text =
    pod.spec.hostNetwork === true
      ? hostNetworkHostsFile(pod, await readNodeHosts())
      : podHostsFile(pod, podHostname(pod, input.clusterDomain), input.podIps);
  // A container may have written to it as much as it wants.
  const present = await readRegular(path, { limit: Buffer.byteLength(text) + 1 }).catch(undefinedIfNotRegular);
  if (present?.toString() === text) return path;
  await mkdir(dirname(path), { recursive: true, mode: 0o750 });
  await replaceRegular(path, text, 0o644);
  return path;
}

function undefinedIfNotRegular(error: unknown): undefined {
  if (!(error instanceof NotRegular)) throw error;
}
