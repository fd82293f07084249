export { type DockerConfig, type Login, parseDockerCfg, parseDockerConfigJson } from './docker-config.ts';
export { CredentialsError } from './errors.ts';
export { type Credential, type CredentialSource, type KeyringPart, lookUp } from './keyring.ts';
export {
  type PluginAnswer,
  type TokenBearer,
  cacheKeys,
  isFor,
  pluginRequest,
  readPluginAnswer,
  wantedAnnotations,
} from './plugin-answer.ts';
export { type CredentialProvider, type TokenAttributes, readProviders } from './provider-config.ts';
export { matchesRepository } from './registry-match.ts';
