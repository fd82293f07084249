export {
  type DeviceChoice,
  type DeviceQuestion,
  type KnownDevice,
  type NoDevices,
  type PreferenceQuestion,
  chosenDevices,
  deviceChoice,
} from './choose.ts';
export { deviceHealth } from './health.ts';
export { mergedDevices } from './merge.ts';
export { type ContainerRequest, deviceRequests, nextReusable } from './requests.ts';
export { type AlignedRequest, type Alignment, type TopologyPolicy, alignment, topologyPolicies } from './topology.ts';
