export { type DockerConfig, type Login, parseDockerCfg, parseDockerConfigJson } from './docker-config.ts';
export { CredentialsError } from './errors.ts';
export { type Credential, type KeyringPart, type SecretSource, lookUp } from './keyring.ts';
export { type PluginAnswer, cacheKeys, isFor, pluginRequest, readPluginAnswer } from './plugin-answer.ts';
export { type CredentialProvider, readProviders } from './provider-config.ts';
export { matchesRepository } from './registry-match.ts';
