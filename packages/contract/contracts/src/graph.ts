import type { AnyCommand, AnyEvent, AnyFact, ServiceName } from './declare.ts';
import { clusterNode, nodeAgentEvent, nodePressure, nodeShutdown } from './messages/cluster-node.ts';
import { configEvent, configNodeEvent, configuredSources, desiredPods, manifest } from './messages/config.ts';
import { claimUse, prepareClaims, unprepareClaims } from './messages/claim.ts';
import { allocateDevices, cpuPool, deviceAllocation, deviceResource } from './messages/device.ts';
import {
  findImage,
  freeImages,
  imagePull,
  imagePulled,
  pullImage,
  runtimeImages,
  runtimeNodeEvent,
} from './messages/image.ts';
import { networkCondition, pluginRun, podNetwork } from './messages/network.ts';
import {
  launcherNodeEvent,
  nodeLogLevel,
  processEvent,
  restartService,
  runElsewhere,
  scaleService,
  serviceShare,
  stuckService,
} from './messages/node.ts';
import { cachedObject, namespaceServices, runtimeClass, trustBundle } from './messages/object.ts';
import { criCommands, fencePod, readPod, runtimeCondition, runtimeHint, runtimePod } from './messages/runtime.ts';
import { readPressure } from './messages/pressure.ts';
import { podProbes, probeEvent } from './messages/probe.ts';
import { serviceInstance } from './messages/service.ts';
import { mirrorPod, statusWrite } from './messages/status.ts';
import { streamEvent } from './messages/stream.ts';
import { csiDriver, volumeAttachment, volumeClaim } from './messages/storage.ts';
import { evictPod, podWake, podWork, shutdownProgress } from './messages/sync.ts';
import { nodeTopology } from './messages/topology.ts';
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
 * What one service publishes and reads. The start-up check, the broker's permissions, `kubus graph` and the published
 * contract all read these lists; nothing else permits a service to use a subject. In addition, every service
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

/** What every service may read without listing it: the running instances and the log level. */
export const everyServiceReads: readonly AnyFact[] = [serviceInstance, nodeLogLevel];

const everyDesiredPod = Object.values(desiredPods);

export const serviceContracts: Readonly<Record<ServiceName, ServiceContract>> = {
  'config-sources': {
    about: 'Reads the pod sources and merges them into PodUpdates.',
    owns: [...everyDesiredPod, configuredSources, manifest],
    reads: [clusterNode],
    serves: [],
    calls: [],
    publishes: [configEvent, configNodeEvent],
    hears: [],
  },
  'sync-loop': {
    about: 'Manages the desired pods: decides which are admitted, with which resources, and which worker owns them.',
    owns: [podWork, podWake, shutdownProgress],
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
      nodeShutdown,
      nodePressure,
    ],
    serves: [evictPod],
    calls: [allocateDevices],
    publishes: [],
    hears: [],
  },
  'pod-workers': {
    about: 'One ordered worker per pod: decides what to start, stop and remove, and sends the commands for it.',
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
      claimUse,
      cpuPool,
      nodePressure,
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
      prepareClaims,
      unprepareClaims,
    ],
    publishes: [podEvent, workerNodeEvent],
    hears: [],
  },
  'cri-bridge': {
    about: 'The only connection to the container runtime: runs commands in lanes, and contains the PLEG.',
    owns: [runtimePod, runtimeCondition, runtimeImages, imagePull],
    reads: [clusterNode],
    serves: [fencePod, readPod, findImage, pullImage, freeImages, ...Object.values(criCommands)],
    calls: [],
    publishes: [runtimeHint, imagePulled, runtimeNodeEvent],
    hears: [],
  },
  'cni-bridge': {
    about: 'Runs the CNI plugin chains that the runtime requests through the shim.',
    owns: [networkCondition, podNetwork],
    reads: [runtimePod, clusterNode],
    serves: [],
    calls: [],
    publishes: [pluginRun],
    hears: [],
  },
  'object-cache': {
    about:
      'Follows the ConfigMaps, Secrets, Services, RuntimeClasses, claims and ClusterTrustBundles that pods need, and serves the data of ConfigMaps and Secrets.',
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
    // Messages published instead of this program's by another program, which keeps none of its records.
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
    hears: [
      podEvent,
      probeEvent,
      volumeEvent,
      workerNodeEvent,
      runtimeNodeEvent,
      configEvent,
      configNodeEvent,
      nodeAgentEvent,
      launcherNodeEvent,
    ],
  },
  'node-agent': {
    about:
      'Maintains the Node object of this node (registration, conditions, lease) and the devices of the node and their allocation, the resource claims of pods, and who has CPUs and memory for itself; delays a shutdown of the machine; watches what the node is short of, and which pod has to go for it.',
    owns: [clusterNode, deviceResource, deviceAllocation, cpuPool, nodeTopology, claimUse, nodeShutdown, nodePressure],
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
      shutdownProgress,
      runtimePod,
    ],
    serves: [allocateDevices, prepareClaims, unprepareClaims, readPressure],
    calls: [criCommands.ImageFsInfo, criCommands.ListContainerStats, volumeStats, freeImages, evictPod],
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
      nodeTopology,
      claimUse,
      serviceShare,
      stuckService,
    ],
    serves: [],
    calls: [
      criCommands.Exec,
      criCommands.Attach,
      criCommands.PortForward,
      criCommands.CheckpointContainer,
      criCommands.ListContainerStats,
      criCommands.ImageFsInfo,
      volumeStats,
    ],
    publishes: [streamEvent],
    hears: [],
  },
  'kube-api': {
    about:
      'The Kubernetes API of a node that has its own: what a cluster’s API server is elsewhere, to services and users.',
    owns: [],
    reads: [],
    serves: [],
    calls: [],
    publishes: [],
    hears: [],
  },
  observatory: {
    about: 'Records every message of the node and shows its causes. It may also follow the node’s record.',
    owns: [],
    reads: [nodeTopology, deviceResource, deviceAllocation, claimUse],
    serves: [],
    calls: [readPressure],
    publishes: [],
    hears: [],
  },
  launcher: {
    about: 'Starts the node’s processes, restarts those that end, and stops all of them.',
    owns: [serviceShare, stuckService],
    reads: [],
    serves: [restartService, runElsewhere, scaleService],
    calls: [],
    publishes: [processEvent, launcherNodeEvent],
    hears: [],
  },
  cli: {
    about: 'The commands that people type. It may also follow the node’s record and read it back.',
    owns: [],
    reads: [
      ...everyDesiredPod,
      cachedObject,
      claimUse,
      clusterNode,
      deviceAllocation,
      deviceResource,
      imagePull,
      manifest,
      mirrorPod,
      networkCondition,
      nodePressure,
      nodeTopology,
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
      stuckService,
    ],
    serves: [],
    calls: [restartService, runElsewhere, scaleService, pullImage, readPressure],
    publishes: [],
    hears: [],
  },
};
