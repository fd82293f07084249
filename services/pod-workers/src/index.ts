import { PodCgroupTree } from '@kubus/cgroup';
import { parseQuantity, quantityMilli, quantityUnits } from '@kubus/contracts';
import { FileRecordStore, type ServiceDefinition, nodeResources } from '@kubus/service-kit';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { createHookRequests } from './http-hook.ts';
import { createPodFiles } from './pod-files.ts';
import { PodWorkers } from './pod-workers.ts';

export { PodWorkers, type PodWorkersOptions } from './pod-workers.ts';
export type { HookRequest, HookRequests, PodCgroups, PodFiles } from './ports.ts';

/** The service `pod-workers`. */
export const podWorkers: ServiceDefinition = {
  name: 'pod-workers',
  start: async ({ config, bus, clock, ids, logger, health, metrics, slot, stateDir }) => {
    const allocatable = nodeResources(config);
    const [cpu, memory] = [allocatable['cpu'], allocatable['memory']].map((text) => parseQuantity(text ?? ''));
    const workers = await PodWorkers.start({
      bus,
      clock,
      ids,
      logger,
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
      nextEpoch: () => slot.nextEpoch(),
      nodeIps: config.nodeIps,
      dns: { clusterDns: config.dns.servers, clusterDomain: config.dns.domain },
      memoryCapacity: BigInt(totalmem()),
      allocatable,
      syncEveryMs: config.pods.syncEveryMs,
    });
    health.ready('state folder', () => workers.saveError);
    metrics.add({
      type: 'gauge',
      name: 'kubus_pod_workers',
      help: 'Pods that this instance has.',
      collect: () => workers.count,
    });
    return {
      stop: () => {
        workers.stop();
        return Promise.resolve();
      },
    };
  },
};
