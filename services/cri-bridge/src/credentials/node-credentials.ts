import type { Logger } from '@kubus/ports';
import type { CredentialPlugins } from './credential-plugins.ts';
import { type DockerConfigFolders, readDockerConfig } from './docker-config-files.ts';
import type { NodeCredentials } from './pull-credentials.ts';

/** The node's docker configuration, then its credential provider plugins. */
export function nodeCredentials(options: {
  folders: DockerConfigFolders;
  plugins: CredentialPlugins | undefined;
  logger: Logger;
}): NodeCredentials {
  const { folders, plugins, logger } = options;
  return {
    for: async (repository, account) => {
      const [file, answers = []] = await Promise.all([
        readDockerConfig(folders, logger),
        plugins?.for(repository, account),
      ]);
      return file === undefined ? answers : [{ config: file }, ...answers];
    },
  };
}
