import {
  ContainerConfigError,
  type EnvFileTexts,
  completeContainer,
  envFilePath,
  environmentFiles,
} from '@kubus/container-config';
import { type CriRequest, type ObjectVersion, type ProcessToComplete, objectKey } from '@kubus/contracts';
import { readWithin } from '@kubus/mount';
import type { ObjectData } from '@kubus/object-socket';
import { KubusError } from '@kubus/ports';
import type { ContainerConfig } from '@kubus/proto/cri';

/** Reads the values of Secrets and ConfigMaps. They go into calls to the runtime, and nowhere else. */
export interface ObjectReader {
  /** The object as it is at this version. Rejects with an `ObjectError` when it can not be had so. */
  read(object: ObjectVersion): Promise<ObjectData>;
}

/** The reader of a node that has nobody who could be asked. */
export const noObjects: ObjectReader = {
  read: (object) =>
    Promise.reject(new KubusError('NoObjectCache', `this node has no object-cache to ask for ${objectKey(object)}`)),
};

/** Bytes of an env file: the variables of a process have no more room than this. */
const ENV_FILE_LIMIT = 1024 * 1024;

export interface Completed<Params> {
  readonly params: Params;
  /** The values that went into them. */
  readonly values: readonly string[];
}

/**
 * The parameters of a CreateContainer with the environment, command and args that the values of objects and env files are
 * part of. Rejects when an object can not be had at the version that the command names, and with a ContainerConfigError when
 * an env file or its key can not be read.
 */
export async function completeCreate<Params extends object>(
  params: Params,
  process: ProcessToComplete,
  objects: ObjectReader,
): Promise<Completed<Params>> {
  const read = await Promise.all(
    process.objects.map(async (object) => [objectKey(object), await objects.read(object)] as const),
  );
  const texts = new Map(read.map(([key, { values }]) => [key, textsOf(values)]));
  const files = await readEnvFiles(process);
  const { config = {} } = params as CriRequest<'CreateContainer'>['params'];
  const complete = completeContainer({ config, process }, (object) => texts.get(objectKey(object)), files);
  const ofObjects = [...texts.values()].flatMap((one) => Object.values(one));
  return { params: { ...params, config: complete }, values: [...ofObjects, ...fileValues(process, complete)] };
}

/** The variables that are made from env files. */
function fileValues({ environment }: ProcessToComplete, { envs = [] }: ContainerConfig): string[] {
  const names = new Set(environment.steps.flatMap((step) => (step.from === 'file' ? [step.name] : [])));
  const found = envs.filter(({ key = '' }) => names.has(key));
  return found.map(({ value = '' }) => Buffer.from(value, 'base64').toString('utf8'));
}

async function readEnvFiles({ environment }: ProcessToComplete): Promise<EnvFileTexts> {
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

function textsOf(values: ObjectData['values']): Record<string, string> {
  return Object.fromEntries([...values].map(([key, value]) => [key, value.toString('utf8')]));
}
