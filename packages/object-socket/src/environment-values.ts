import {
  ContainerConfigError,
  type EnvFileTexts,
  type ObjectLookup,
  envFilePath,
  environmentFiles,
} from '@kubus/container-config';
import { type ObjectVersion, type ProcessToComplete, objectKey } from '@kubus/contracts';
import { readWithin } from '@kubus/mount';
import type { ObjectData } from './api-object.ts';
import type { ObjectReader } from './object-reader.ts';

/** Bytes of an env file: the variables of a process have no more room than this. */
const ENV_FILE_LIMIT = 1024 * 1024;

/** What an environment is completed with. Never to be logged, sent or stored. */
export interface EnvironmentValues {
  readonly objects: ObjectLookup;
  readonly files: EnvFileTexts;
  /** Everything that the objects hold. */
  readonly texts: readonly string[];
}

/**
 * Reads the objects and env files that a container's variables get values from. Rejects when an object can not be had at
 * its version, and with a ContainerConfigError when an env file can not be read.
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
