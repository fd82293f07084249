import {
  ContainerConfigError,
  type EnvFileTexts,
  type ObjectLookup,
  envFilePath,
  environmentFiles,
} from '@kubus/container-config';
import { type ObjectVersion, type ProcessToComplete, objectKey } from '@kubus/contracts';
import { readWithin } from '@kubus/filesystem';
import type { ObjectData } from './api-object.ts';
import type { ObjectReader } from './object-reader.ts';

/** Maximum size of an env file in bytes, which is the limit of a process's environment. */
const ENV_FILE_LIMIT = 1024 * 1024;

/** Values that complete an environment. Must never be logged, sent or stored. */
export interface EnvironmentValues {
  readonly objects: ObjectLookup;
  readonly files: EnvFileTexts;
  /** All values of the objects. */
  readonly texts: readonly string[];
}

/**
 * Reads the objects and env files that a container's variables get values from. Rejects when an object is not available
 * at its version, and with a ContainerConfigError when an env file cannot be read.
 */
export async function environmentValues(
  { environment, objects }: Pick<ProcessToComplete, 'environment' | 'objects'>,
  reader: ObjectReader,
): Promise<EnvironmentValues> {
  const texts = new Map(await Promise.all(objects.map((object) => textsOf(object, reader))));
  return {
    objects: (object) => texts.get(objectKey(object)),
    files: await readEnvFiles(environment),
    texts: [...texts.values()].flatMap((one) => Object.values(one)),
  };
}

async function textsOf(object: ObjectVersion, reader: ObjectReader): Promise<[string, Record<string, string>]> {
  const { values }: ObjectData = await reader.read(object);
  return [objectKey(object), Object.fromEntries([...values].map(([key, value]) => [key, value.toString('utf8')]))];
}

async function readEnvFiles(environment: ProcessToComplete['environment']): Promise<EnvFileTexts> {
  const texts = new Map<string, string>();
  for (const file of environmentFiles(environment)) {
    try {
      texts.set(envFilePath(file), await readWithin(file.volume, file.path, { limit: ENV_FILE_LIMIT }));
    } catch (cause) {
      throw new ContainerConfigError("couldn't parse env file", { cause });
    }
  }
  return texts;
}
