import { PodCgroupTree, cgroupMounts, kernelMemory } from '@kubus/cgroup';
import { parseQuantity, quantityMilli, quantityUnits } from '@kubus/contracts';
import { withoutReserved } from '@kubus/node-status';
import {
  FileRecordStore,
  type ServiceDefinition,
  configuredShare,
  nodeCapacity,
  nodeResources,
} from '@kubus/service-kit';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { podWorkersCore } from './core.ts';
import { createHookRequests } from './http-hook.ts';
import { LogRotation } from './log-rotation.ts';
import { logUsage } from './log-usage.ts';
import { OrphanFiles } from './orphan-files.ts';
import { createPodFiles } from './pod-files.ts';

export { podWorkersCore } from './core.ts';
export { podRecordSchema } from './pod-record.ts';
export { PodWorkers, type PodWorkersOptions } from './pod-workers.ts';
export type { ContainerRun, HookRequest, HookRequests, PodCgroups, PodFiles } from './ports.ts';

/** The instance that is always there, however many there are. */
const FIRST = 'pod-workers-0';

/** The service `pod-workers`. */
export const podWorkers: ServiceDefinition = {
  name: 'pod-workers',
  journaled: true,
  start: async ({ config, instance, run, clock, logger, health, metrics, slot, stateDir }) => {
    const { system, kube } = config.reserved;
    // What a hard eviction keeps free is kept free by eviction, not by the limit of all pods.
    const enforced = withoutReserved(nodeCapacity(config), [system, kube]);
    const [cpu, memory] = [enforced['cpu'], enforced['memory']].map((text) => parseQuantity(text ?? ''));
    const kernel = await kernelMemory(await cgroupMounts());
    const inputs = {
      share: configuredShare(config, 'pod-workers'),
      nodeIps: config.nodeIps,
      dns: { clusterDns: config.dns.servers, clusterDomain: config.dns.domain },
      memoryCapacity: BigInt(totalmem()),
      kernel,
      allocatable: nodeResources(config),
      syncEveryMs: config.pods.syncEveryMs,
      eventRate: config.events,
    };
    const core = await run(podWorkersCore, inputs, {
      records: new FileRecordStore({ dir: join(stateDir, 'pods'), logger }),
      files: createPodFiles({
        ...config.pods,
        clusterDomain: config.dns.domain,
        resolvConf: config.dns.resolvConf,
      }),
      cgroups: new PodCgroupTree({
        root: config.runtime.cgroupRoot,
        driver: config.pods.cgroupDriver,
        ...(cpu && memory && { allocatable: { milliCpu: quantityMilli(cpu), memory: quantityUnits(memory) } }),
        ...(config.pods.pidsLimit !== undefined && { pids: BigInt(config.pods.pidsLimit) }),
      }),
      hooks: createHookRequests(),
      epochs: { next: () => slot.nextEpoch() },
    });
    const { workers } = core.running;
    const rotation = new LogRotation({
      clock,
      logger,
      logs: () => workers.runningLogs,
      reopen: (log) => core.call('reopenLog', log),
      settings: config.logs,
    });
    // By one instance alone: the folders are not any instance's.
    const orphans =
      instance === FIRST
        ? new OrphanFiles({
            ...config.pods,
            ...{ clock, logger },
            tell: (event) => void core.call('nodeEvent', event),
            mayExist: (uid) => workers.mayExist(uid),
          })
        : undefined;
    health.ready('state folder', () => workers.saveError);
    workers.metrics.show(metrics);
    metrics.add({
      type: 'gauge',
      name: 'kubus_pod_workers',
      help: 'Pods that this instance has.',
      collect: () => workers.count,
    });
    metrics.add({
      type: 'gauge',
      name: 'kubelet_container_log_filesystem_used_bytes',
      help: 'Bytes on disk that the logs of containers take which run.',
      collect: () => logUsage(workers.runningLogs),
    });
    metrics.add({
      type: 'gauge',
      name: 'kubelet_cgroup_version',
      help: 'Version of the cgroups of the machine.',
      // Other instances would be added to it.
      collect: () => (instance === FIRST ? [{ value: kernel.cgroupVersion }] : []),
    });
    metrics.add({
      type: 'gauge',
      name: 'kubelet_orphan_pod_cleaned_volumes',
      help: 'Folders of unknown pods that were removed when they were last looked for.',
      collect: () => orphans?.lastLook.cleaned ?? 0,
    });
    metrics.add({
      type: 'gauge',
      name: 'kubelet_orphan_pod_cleaned_volumes_errors',
      help: 'Folders of unknown pods that could not be removed when they were last looked for.',
      collect: () => orphans?.lastLook.failed ?? 0,
    });
    metrics.add({
      type: 'gauge',
      name: 'kubus_logs_not_rotated',
      help: 'Containers whose logs are too large and can not be rotated.',
      collect: () => rotation.failing,
    });
    return {
      stop: async () => {
        rotation.stop();
        orphans?.stop();
        await core.call('stop');
      },
    };
  },
};
