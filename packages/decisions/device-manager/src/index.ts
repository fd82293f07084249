export { type AllocationEntry, type DeviceCheckpoint, deviceCheckpoint, parseDeviceCheckpoint } from './checkpoint.ts';
export {
  type DeviceQuestion,
  type KnownDevice,
  type PreferenceQuestion,
  chosenDevices,
  deviceChoice,
  keptDevicesProblem,
} from './choose.ts';
export { deviceHealth } from './health.ts';
export { mergedDevices } from './merge.ts';
export { type ContainerRequest, deviceRequests, isClaimedResource, nextReusable, podCounts } from './requests.ts';
export {
  type AlignedRequest,
  type Alignment,
  type Topology,
  type TopologyScope,
  alignment,
  deviceHints,
  topologyPolicies,
} from './topology.ts';
