export { advance } from './attachment.ts';
export {
  type AttachmentRecord,
  type AttachmentRequest,
  attachmentRecordSchema,
  recordKey,
} from './attachment-record.ts';
export {
  type Answer,
  type Ask,
  type AttachmentInput,
  type AttachmentState,
  isBusy,
  type Operation,
  restoreAttachment,
} from './attachment-state.ts';
export { CniCode, CniError, PluginMissing, formatError, toCniError } from './cni-error.ts';
export { CNI_VERSIONS } from './cni-version.ts';
export {
  answerVersion,
  type AttachmentCall,
  type Invocation,
  parseInvocation,
  podOf,
  type RuntimeCall,
  versionAnswer,
} from './invocation.ts';
export { freeSubnet, gatewayOf } from './free-subnet.ts';
export { hasHostPorts, hostPortInterfaces } from './host-ports.ts';
export { jsonObjectSchema } from './json.ts';
export {
  forwardingRules,
  hasSharedChains,
  type MachineNetwork,
  markedBridges,
  rulesToAdd,
  rulesToRemove,
} from './machine-rules.ts';
export {
  chooseConfig,
  type ChosenConfig,
  type ConfigFile,
  isConfigFileName,
  type NetworkConfig,
  type PluginConfig,
} from './network-config.ts';
export { networkReadiness, type NetworkReadiness } from './network-readiness.ts';
export {
  type AttachmentKey,
  type CniCommand,
  declaredArgs,
  knowsStatusAndGc,
  nodeArgs,
  passesResultOn,
  type PluginCall,
  pluginEnv,
  type PluginOutput,
  type PluginRunner,
  pluginStdin,
  requireSuccess,
} from './plugin-call.ts';
export { addressesOf, type CniResult, formatResult, parseResult } from './result.ts';
export { handlerWithShim, runtimeNetwork } from './runtime-network.ts';
