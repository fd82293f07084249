import { type EnvironmentPlan, type EnvironmentStep, type ObjectReference, objectKey } from '@kubus/contracts';
import { expandVariables } from '@kubus/pod';
import { envFileValue } from './env-file.ts';
import { ContainerConfigError } from './errors.ts';

/**
 * The data of an object, by key; undefined when the object does not exist. The function itself is undefined on a node without
 * an API server.
 */
export type ObjectLookup = (object: ObjectReference) => Readonly<Record<string, string>> | undefined;

type FileStep = Extract<EnvironmentStep, { from: 'file' }>;

/** An env file, by its volume's folder and its path in that folder. */
export type EnvFile = Pick<FileStep, 'volume' | 'path'>;

/** Texts of env files, by their {@link envFilePath}. */
export type EnvFileTexts = ReadonlyMap<string, string>;

export function envFilePath({ volume, path }: EnvFile): string {
  return `${volume}/${path}`;
}

/** The env files from which a plan reads values, each one once. */
export function environmentFiles({ steps }: Pick<EnvironmentPlan, 'steps'>): readonly EnvFile[] {
  const found = new Map<string, EnvFile>();
  for (const step of steps) if (step.from === 'file') found.set(envFilePath(step), step);
  return [...found.values()];
}

/** The objects from which a plan reads values, each one once. */
export function environmentObjects({ steps }: Pick<EnvironmentPlan, 'steps'>): readonly ObjectReference[] {
  const found = new Map<string, ObjectReference>();
  for (const step of steps) if ('object' in step) found.set(objectKey(step.object), step.object);
  return [...found.values()];
}

/**
 * Resolves the value of every variable (behaviour:environment-and-dns, Env order). The only place where a container's environment and
 * the values of Secrets are combined.
 *
 * @param files undefined where they are not read: their variables are then empty
 *
 * Throws {@link ContainerConfigError} when an object or a key that is not optional is missing.
 */
export function completeEnvironment(
  plan: EnvironmentPlan,
  objects?: ObjectLookup,
  files?: EnvFileTexts,
): ReadonlyMap<string, string> {
  const services = new Map(plan.services);
  const variables = new Map<string, string>();
  for (const step of plan.steps) {
    switch (step.from) {
      case 'text':
        variables.set(
          step.name,
          expandVariables(step.text, (name) => variables.get(name) ?? services.get(name)),
        );
        break;
      case 'value':
        variables.set(step.name, step.value);
        break;
      case 'key': {
        const value = keyValue(step, objects);
        if (value !== undefined) variables.set(step.name, value);
        break;
      }
      case 'file': {
        const value = files === undefined ? '' : fileValue(step, files);
        if (value !== undefined) variables.set(step.name, value);
        break;
      }
      case 'object':
        for (const [key, value] of Object.entries(objectData(step, objects))) variables.set(step.prefix + key, value);
    }
  }
  const complete = new Map(plan.device);
  for (const [name, value] of variables) complete.set(name, value);
  for (const [name, value] of services) if (!variables.has(name)) complete.set(name, value);
  return complete;
}

type KeyStep = Extract<EnvironmentStep, { from: 'key' }>;
type ObjectStep = Extract<EnvironmentStep, { from: 'object' }>;

function keyValue(step: KeyStep, objects: ObjectLookup | undefined): string | undefined {
  const { key, object, optional } = step;
  const data = objectData(step, objects);
  if (Object.hasOwn(data, key)) return data[key];
  if (optional) return undefined;
  throw new ContainerConfigError(`couldn't find key ${key} in ${object.kind} ${object.namespace}/${object.name}`, {
    missing: object,
  });
}

function fileValue(step: FileStep, files: EnvFileTexts): string | undefined {
  const { key, optional } = step;
  const path = envFilePath(step);
  let value: string | undefined;
  try {
    value = envFileValue(files.get(path) ?? '', key);
  } catch (cause) {
    throw new ContainerConfigError("couldn't parse env file", { cause });
  }
  if (value !== undefined || optional) return value;
  throw new ContainerConfigError(`environment variable key "${key}" not found in file "${path}"`);
}

function objectData(
  { object, optional }: KeyStep | ObjectStep,
  objects: ObjectLookup | undefined,
): Readonly<Record<string, string>> {
  if (objects === undefined) {
    const kind = object.kind === 'Secret' ? 'secret' : 'configMap';
    throw new ContainerConfigError(`couldn't get ${kind} ${object.namespace}/${object.name}, no kubeClient defined`, {
      missing: object,
    });
  }
  const data = objects(object);
  if (data !== undefined) return data;
  if (optional) return {};
  throw new ContainerConfigError(`${object.kind.toLowerCase()} "${object.name}" not found`, { missing: object });
}
