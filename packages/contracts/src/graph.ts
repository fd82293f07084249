import type { AnyCommand, AnyEvent, AnyFact, ServiceName } from './declare.ts';
import { clusterNode, nodeAgentEvent } from './messages/cluster-node.ts';
import { configEvent, configuredSources, desiredPods, manifest } from './messages/config.ts';
import { allocateDevices, deviceAllocation, deviceResource } from './messages/device.ts';
import { findImage, imagePull, imagePulled, pullImage, runtimeImages, runtimeNodeEvent } from './messages/image.ts';
import { networkCondition, pluginRun, podNetwork } from './messages/network.ts';
import {
  nodeLogLevel,
  processEvent,
  restartService,
  runElsewhere,
  scaleService,
  serviceShare,
} from './messages/node.ts';
import { cachedObject, namespaceServices, runtimeClass, trustBundle } from './messages/object.ts';
import { criCommands, fencePod, readPod, runtimeCondition, runtimeHint, runtimePod } from './messages/runtime.ts';
import { podProbes, probeEvent } from './messages/probe.ts';
import { serviceInstance } from './messages/service.ts';
import { mirrorPod, statusWrite } from './messages/status.ts';
import { streamEvent } from './messages/stream.ts';
import { csiDriver, volumeAttachment, volumeClaim } from './messages/storage.ts';
import { podWake, podWork } from './messages/sync.ts';
import {
  claimExpansion,
  csiPlugin,
  podVolumes,
  prepareSubPaths,
  volumeEvent,
  volumeStats,
  volumesInUse,
} from './messages/volume.ts';
import { podEvent, podStatus, podWorker, workerNodeEvent } from './messages/worker.ts';

/**
 * What one service says and hears. The start-up check, the broker's permissions, `kubus graph` and the published
 * contract all read these lists; nothing else gives a service the right to a subject. Besides them, every service
 * announces itself (`service.fact.instance`), reads {@link everyServiceReads} and may publish `service.event.refused`.
 */
export interface ServiceContract {
  readonly about: string;
  readonly owns: readonly AnyFact[];
  readonly reads: readonly AnyFact[];
  readonly serves: readonly AnyCommand[];
  readonly calls: readonly AnyCommand[];
  readonly publishes: readonly AnyEvent[];
  readonly hears: readonly AnyEvent[];
}

/** What every service may read without listing it: who is there, and how much is to be logged. */
export const everyServiceReads: readonly AnyFact[] = [serviceInstance, nodeLogLevel];

const everyDesiredPod = Object.values(desiredPods);

export const serviceContracts: Readonly<Record<ServiceName, ServiceContract>> = {
  'config-sources': {
    about: 'Reads the pod sources and merges them into PodUpdates.',
    owns: [...everyDesiredPod, configuredSources, manifest],
    reads: [clusterNode],
    serves: [],
    calls: [],
    publishes: [configEvent],
    hears: [],
  },
  'sync-loop': {
    about: 'Holds the desired pods; decides which are taken, with which resources, and which worker has them.',
    owns: [podWork, podWake],
    reads: [
      ...everyDesiredPod,
      clusterNode,
      configuredSources,
      runtimePod,
      runtimeCondition,
      podWorker,
      podStatus,
      serviceShare,
      deviceResource,
    ],
    serves: [],
    calls: [allocateDevices],
    publishes: [],
    hears: [],
  },
  'pod-workers': {
    about: 'One ordered worker per pod: decides what to start, stop and remove, and has it done.',
    owns: [podWorker, podStatus],
    reads: [
      podWork,
      podWake,
      podProbes,
      podVolumes,
      runtimePod,
      runtimeCondition,
      networkCondition,
      configuredSources,
      cachedObject,
      clusterNode,
      namespaceServices,
      runtimeClass,
      serviceShare,
      deviceAllocation,
      deviceResource,
    ],
    serves: [],
    calls: [
      fencePod,
      readPod,
      criCommands.RunPodSandbox,
      criCommands.StopPodSandbox,
      criCommands.RemovePodSandbox,
      criCommands.CreateContainer,
      criCommands.StartContainer,
      criCommands.StopContainer,
      criCommands.RemoveContainer,
      criCommands.UpdateContainerResources,
      criCommands.UpdatePodSandboxResources,
      criCommands.ContainerStats,
      criCommands.ExecSync,
      criCommands.ReopenContainerLog,
      findImage,
      pullImage,
      prepareSubPaths,
      allocateDevices,
    ],
    publishes: [podEvent, workerNodeEvent],
    hears: [],
  },
  'cri-bridge': {
    about: 'The one connection to the container runtime: commands in lanes, PLEG.',
    owns: [runtimePod, runtimeCondition, runtimeImages, imagePull],
    reads: [clusterNode],
    serves: [fencePod, readPod, findImage, pullImage, ...Object.values(criCommands)],
    calls: [],
    publishes: [runtimeHint, imagePulled, runtimeNodeEvent],
    hears: [],
  },
  'cni-bridge': {
    about: 'Runs the CNI plugin chains that the runtime asks for through the shim.',
    owns: [networkCondition, podNetwork],
    reads: [runtimePod, clusterNode],
    serves: [],
    calls: [],
    publishes: [pluginRun],
    hears: [],
  },
  'object-cache': {
    about:
      'Follows the ConfigMaps, Secrets, Services, RuntimeClasses, claims and ClusterTrustBundles that pods need, and gives out what is in the first two.',
    owns: [cachedObject, namespaceServices, runtimeClass, trustBundle, volumeClaim, csiDriver, volumeAttachment],
    reads: [podWork, clusterNode],
    serves: [],
    calls: [],
    publishes: [],
    hears: [],
  },
  'volume-manager': {
    about: 'Mounts and removes the volumes of pods.',
    owns: [podVolumes, csiPlugin, volumesInUse, claimExpansion],
    reads: [podWork, podWorker, cachedObject, trustBundle, volumeClaim, csiDriver, volumeAttachment, clusterNode],
    serves: [prepareSubPaths, volumeStats],
    calls: [],
    publishes: [volumeEvent],
    hears: [],
  },
  prober: {
    about: 'Runs the startup, liveness and readiness probes of containers.',
    owns: [podProbes],
    // What was said in its place by another program, which keeps no records of this one's.
    reads: [podWork, podProbes, runtimePod, serviceShare],
    serves: [],
    calls: [criCommands.ExecSync],
    publishes: [probeEvent],
    hears: [],
  },
  'status-manager': {
    about: 'Writes the status of pods, mirror pods and events to the API server, and deletes pods that have ended.',
    owns: [statusWrite, mirrorPod],
    reads: [...everyDesiredPod, configuredSources, podWork, podWorker, podStatus, clusterNode, claimExpansion],
    serves: [],
    calls: [],
    publishes: [],
    hears: [podEvent, probeEvent, volumeEvent, workerNodeEvent, runtimeNodeEvent, configEvent, nodeAgentEvent],
  },
  'node-agent': {
    about: 'The Node object of this node: registration, conditions, lease; the devices of the node and who has them.',
    owns: [clusterNode, deviceResource, deviceAllocation],
    reads: [
      ...everyDesiredPod,
      configuredSources,
      podWork,
      podWorker,
      runtimeCondition,
      networkCondition,
      runtimeImages,
      csiPlugin,
      volumesInUse,
    ],
    serves: [allocateDevices],
    calls: [],
    publishes: [nodeAgentEvent],
    hears: [],
  },
  'node-api': {
    about: 'The HTTPS API of the node, which kubectl and the API server use.',
    owns: [nodeLogLevel],
    reads: [
      ...everyDesiredPod,
      podWork,
      podWorker,
      podStatus,
      runtimePod,
      clusterNode,
      deviceResource,
      deviceAllocation,
      serviceShare,
    ],
    serves: [],
    calls: [
      criCommands.Exec,
      criCommands.Attach,
      criCommands.PortForward,
      criCommands.ExecSync,
      criCommands.CheckpointContainer,
      criCommands.ListContainerStats,
      criCommands.ImageFsInfo,
      volumeStats,
    ],
    publishes: [streamEvent],
    hears: [],
  },
  observatory: {
    about:
      'Records every message of the node, and shows what led to what. Besides this it may follow the node’s record.',
    owns: [],
    reads: [],
    serves: [],
    calls: [],
    publishes: [],
    hears: [],
  },
  launcher: {
    about: 'Starts the node’s processes, keeps them running and takes everything down.',
    owns: [serviceShare],
    reads: [],
    serves: [restartService, runElsewhere, scaleService],
    calls: [],
    publishes: [processEvent],
    hears: [],
  },
  cli: {
    about: 'What people type. Besides this it may follow and look back at everything that is said on the node.',
    owns: [],
    reads: [
      ...everyDesiredPod,
      cachedObject,
      clusterNode,
      imagePull,
      manifest,
      mirrorPod,
      networkCondition,
      podNetwork,
      podProbes,
      podStatus,
      podVolumes,
      podWork,
      podWorker,
      runtimeCondition,
      runtimeImages,
      runtimePod,
      serviceInstance,
      serviceShare,
      statusWrite,
    ],
    serves: [],
    calls: [restartService, runElsewhere, scaleService],
    publishes: [],
    hears: [],
  },
};
