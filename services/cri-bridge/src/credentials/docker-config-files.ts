import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DockerConfig, parseDockerCfg, parseDockerConfigJson } from '@kubus/images';
import { type Logger, hasErrno, toError } from '@kubus/ports';

export interface DockerConfigFolders {
  /** The kubelet's root folder. */
  readonly root: string;
  /** Working folder of the process. */
  readonly work: string;
  readonly home: string;
}

/**
 * The node's docker configuration: the first readable one of the usual places, `config.json` before the older
 * `.dockercfg` (behaviour:images, credentials). Read again each time, so that a changed file takes effect at once.
 */
export async function readDockerConfig(
  { root, work, home }: DockerConfigFolders,
  logger: Logger,
): Promise<DockerConfig | undefined> {
  const places = [
    ...[root, work, join(home, '.docker'), '/.docker'].map((folder) => [join(folder, 'config.json'), 'json'] as const),
    ...[root, work, home, '/'].map((folder) => [join(folder, '.dockercfg'), 'older'] as const),
  ];
  for (const [file, form] of places) {
    try {
      const text = await readFile(file, 'utf8');
      return form === 'json' ? parseDockerConfigJson(text, file) : parseDockerCfg(text, file);
    } catch (error) {
      if (!hasErrno(error, 'ENOENT', 'ENOTDIR'))
        logger.warn({ file, err: toError(error).message }, 'cannot read a docker configuration; skipping it');
    }
  }
  return undefined;
}
