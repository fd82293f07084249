import { cgroupMounts, kernelMemory } from '@kubus/cgroup';
import { runtimePod } from '@kubus/contracts';
import {
  FileRecordStore,
  type ServiceDefinition,
  configuredShare,
  nodeResources,
  readMachine,
} from '@kubus/service-kit';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { CgroupUpkeep } from './cgroups/cgroup-upkeep.ts';
import { EnforcedGroups } from './cgroups/enforced-groups.ts';
import { enforcementOf, exclusiveOf } from './cgroups/enforcement.ts';
import { machineWarnings } from './cgroups/machine-warnings.ts';
import { openCgroups } from './cgroups/open-cgroups.ts';
import { showProtectedMemory } from './cgroups/protected-memory.ts';
import { type NodeEventText, podWorkersCore } from './core.ts';
import { createHookRequests } from './containers/http-hook.ts';
import { LogRotation } from './logs/log-rotation.ts';
import { logUsage } from './logs/log-usage.ts';
import { OrphanFiles } from './cleanup/orphan-files.ts';
import { createPodFiles } from './files/pod-files.ts';

export { podWorkersCore } from './core.ts';
export { podRecordSchema } from './records/pod-record.ts';
export { PodWorkers } from './pod-workers.ts';
export type { ContainerRun, HookRequest, PodFiles } from './ports.ts';

/** The instance that always exists, however many there are. */
const FIRST = 'pod-workers-0';

/** The service `pod-workers`. */
export const podWorkers: ServiceDefinition = {
  name: 'pod-workers',
  journaled: true,
  follows: [runtimePod],
  start: async ({ config, instance, run, clock, logger, health, metrics, slot, reserve, stateDir }) => {
    const cgroups = await openCgroups(config, clock);
    const kernel = await kernelMemory(await cgroupMounts());
    const inputs = {
      share: configuredShare(config, 'pod-workers'),
      nodeIps: config.nodeIps,
      standAlone: config.apiServer === undefined,
      dns: { clusterDns: config.dns.servers, clusterDomain: config.dns.domain },
      seccomp: { seccompDefault: config.pods.seccompDefault, seccompFolder: join(config.pods.root, 'seccomp') },
      memoryCapacity: BigInt(totalmem()),
      kernel,
      enforcement: enforcementOf(config, kernel),
      ...exclusiveOf(config),
      allocatable: nodeResources(config),
      deadContainers: config.pods.deadContainers,
      syncEveryMs: config.pods.syncEveryMs,
      eventRate: config.events,
    };
    const core = await run(podWorkersCore, inputs, {
      records: new FileRecordStore({ dir: join(stateDir, 'pods'), logger, reserve }),
      files: createPodFiles({
        ...config.pods,
        clusterDomain: config.dns.domain,
        resolvConf: config.dns.resolvConf,
      }),
      cgroups: cgroups.tree,
      hooks: createHookRequests(),
      epochs: { next: () => slot.nextEpoch() },
    });
    const { calls, running } = core;
    const { workers } = running;
    const rotation = new LogRotation({
      clock,
      logger,
      logs: () => workers.runningLogs,
      reopen: (log) => calls.reopenLog(log),
      settings: config.logs,
    });
    const report = (event: NodeEventText) => void calls.nodeEvent(event);
    // Done by one instance only, since all of them share the folders.
    const orphans =
      instance === FIRST
        ? new OrphanFiles({
            ...config.pods,
            ...{ clock, logger },
            report,
            mayExist: (uid) => workers.mayExist(uid),
          })
        : undefined;
    const upkeep = new CgroupUpkeep({
      root: config.pods.root,
      cgroups: cgroups.tree,
      activePods: () => workers.activePods,
      mayExist: (uid) => workers.mayExist(uid),
      removes: instance === FIRST,
      ...{ clock, logger },
    });
    if (instance === FIRST) for (const warning of machineWarnings(kernel, readMachine())) report(warning);
    const enforced =
      instance === FIRST
        ? new EnforcedGroups({ reserved: config.reserved, cgroups: cgroups.tree, report, ...{ clock, logger } })
        : undefined;
    health.ready('state folder', () => workers.saveError);
    workers.metrics.show(metrics);
    metrics.add({
      type: 'gauge',
      name: 'kubus_pod_workers',
      help: 'Pods that this instance owns.',
      collect: () => workers.count,
    });
    metrics.add({
      type: 'gauge',
      name: 'kubelet_container_log_filesystem_used_bytes',
      help: 'Bytes on disk of the logs of running containers.',
      collect: () => logUsage(workers.runningLogs),
    });
    metrics.add({
      type: 'gauge',
      name: 'kubelet_cgroup_version',
      help: 'Version of the cgroups of the machine.',
      // The values of other instances would be added to it.
      collect: () => (instance === FIRST ? [{ value: kernel.cgroupVersion }] : []),
    });
    if (config.pods.memoryQos !== undefined && instance === FIRST) showProtectedMemory(metrics, cgroups.tree);
    metrics.add({
      type: 'gauge',
      name: 'kubelet_orphan_pod_cleaned_volumes',
      help: 'Folders of unknown pods that the last check removed.',
      collect: () => orphans?.lastLook.cleaned ?? 0,
    });
    metrics.add({
      type: 'gauge',
      name: 'kubelet_orphan_pod_cleaned_volumes_errors',
      help: 'Folders of unknown pods that the last check could not remove.',
      collect: () => orphans?.lastLook.failed ?? 0,
    });
    metrics.add({
      type: 'gauge',
      name: 'kubus_logs_not_rotated',
      help: 'Containers whose logs are too large and cannot be rotated.',
      collect: () => rotation.failing,
    });
    return {
      stop: async () => {
        rotation.stop();
        orphans?.stop();
        upkeep.stop();
        enforced?.stop();
        await calls.stop();
        await cgroups.close();
      },
    };
  },
};
