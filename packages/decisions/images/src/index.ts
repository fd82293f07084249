export { formatBytes } from './bytes.ts';
export {
  type DiskSpace,
  type ImageGcPolicy,
  type ImageRecord,
  type ImageRecords,
  diskUsage,
  forSpace,
  giveImage,
  isOff,
  notEnoughFreed,
  notRemovedForAge,
  notRemovedForSpace,
  observeImages,
  tooOld,
} from './image-gc.ts';
export { type WayOut, explainUnreachable, pullFailure } from './pull-error.ts';
export { pulledMessage } from './pulled-message.ts';
export { type QueuedPull, startable } from './pull-queue.ts';
export {
  type PullCheck,
  type PullSecret,
  type PulledRecord,
  type Verification,
  learnSecrets,
  pullCheck,
  recordPull,
  recordUnknown,
  verificationPolicies,
} from './pulled-record.ts';
export { type DockerConfig, parseDockerCfg, parseDockerConfigJson } from './credentials/docker-config.ts';
export { CredentialsError } from './credentials/errors.ts';
export { type Credential, type CredentialSource, type KeyringPart, lookUp } from './credentials/keyring.ts';
export {
  type TokenBearer,
  cacheKeys,
  isFor,
  pluginRequest,
  readPluginAnswer,
  wantedAnnotations,
} from './credentials/plugin-answer.ts';
export { type CredentialProvider, type TokenAttributes, readProviders } from './credentials/provider-config.ts';
export { matchesRepository } from './credentials/registry-match.ts';
