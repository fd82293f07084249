import type { PodFiles } from '@kubus/pod-workers';
import { KubusError } from '@kubus/ports';
import type { ProcessGuard } from './process-guard.ts';
import { newestStarts } from './runtime-things.ts';
import type { SimulatedNode } from './simulated-node.ts';
import { isMounted } from './simulated-volumes.ts';

/** A container's log exists from its start on, and is removed with its pod; there is no termination message. */
export function simulatedPodFiles(node: SimulatedNode, guard: ProcessGuard): PodFiles {
  const nothing = () => guard.promise(Promise.resolve(undefined));
  return {
    makeFolder: nothing,
    makeLogFolder: nothing,
    logFolder: ({ uid }) => `/logs/${uid}`,
    linkLog: nothing,
    writeHostsFile: ({ metadata }) => guard.promise(Promise.resolve(`/hosts/${metadata.uid}`)),
    readResolvConf: nothing,
    logIndexes: ({ uid }) => guard.promise(Promise.resolve(newestStarts(node.runtime.deeds, uid))),
    readLogEnd: nothing,
    makeTerminationLog: ({ uid }, container) => guard.promise(Promise.resolve(`/messages/${uid}/${container}`)),
    readTerminationLog: nothing,
    removeRun: nothing,
    removeLogs: nothing,
    remove: ({ uid }) => {
      if (isMounted(node.mounts, uid)) {
        return guard.promise(Promise.reject(new KubusError('still-mounted', `/volumes/${uid} is still mounted`)));
      }
      node.finished.set(uid, node.scheduler.elapsed());
      return guard.promise(Promise.resolve());
    },
  };
}
