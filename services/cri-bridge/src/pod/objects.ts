import { completeContainer } from '@kubus/container-config';
import type { CriRequest, ProcessToComplete } from '@kubus/contracts';
import { type ObjectReader, environmentValues } from '@kubus/object-socket';
import type { ContainerConfig } from '@kubus/proto/cri';

export interface Completed<Params> {
  readonly params: Params;
  /** The values that were filled in. */
  readonly values: readonly string[];
}

/**
 * Completes the parameters of a CreateContainer: environment, command and args with the values of objects and env
 * files. Rejects when an object cannot be read at the version that the command names, and with a ContainerConfigError
 * when an env file or its key cannot be read.
 */
export async function completeCreate<Params extends object>(
  params: Params,
  process: ProcessToComplete,
  reader: ObjectReader,
): Promise<Completed<Params>> {
  const { objects, files, texts } = await environmentValues(process, reader);
  const { config = {} } = params as CriRequest<'CreateContainer'>['params'];
  const complete = completeContainer({ config, process }, objects, files);
  return { params: { ...params, config: complete }, values: [...texts, ...fileValues(process, complete)] };
}

/** The values of variables from env files. */
function fileValues({ environment }: ProcessToComplete, { envs = [] }: ContainerConfig): string[] {
  const names = new Set(environment.steps.flatMap((step) => (step.from === 'file' ? [step.name] : [])));
  const found = envs.filter(({ key = '' }) => names.has(key));
  return found.map(({ value = '' }) => Buffer.from(value, 'base64').toString('utf8'));
}
