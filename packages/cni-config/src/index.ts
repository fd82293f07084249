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
  type Transition,
} from './attachment-state.ts';
export {
  CniCode,
  CniError,
  PluginMissing,
  formatError,
  incompatibleVersion,
  parseError,
  toCniError,
} from './cni-error.ts';
export { CNI_VERSIONS, type CniVersion, chooseVersion, isAtLeast, isCniVersion } from './cni-version.ts';
export {
  answerVersion,
  type AttachmentCall,
  type Invocation,
  parseInvocation,
  podOf,
  type RuntimeCall,
  versionAnswer,
} from './invocation.ts';
export { type Json, type JsonObject, jsonObjectSchema } from './json.ts';
export {
  type BrokenConfig,
  chooseConfig,
  type ChosenConfig,
  type ConfigFile,
  isConfigFileName,
  type NetworkConfig,
  NetworkConfigError,
  parseNetworkConfig,
  type PluginConfig,
} from './network-config.ts';
export { networkReadiness, type NetworkReadiness, type ReadinessInputs } from './network-readiness.ts';
export {
  type AttachmentKey,
  type CniCommand,
  declaredArgs,
  knowsStatusAndGc,
  nodeArgs,
  passesResultOn,
  type PluginCall,
  pluginEnv,
  type PluginInput,
  type PluginOutput,
  type PluginRunner,
  pluginStdin,
  requireSuccess,
} from './plugin-call.ts';
export { addressesOf, type CniResult, formatResult, parseResult, readResult, requireAddress } from './result.ts';
export { handlerWithShim, runtimeNetwork, SHIM_TYPE } from './runtime-network.ts';
