import { ContainerConfigError, fieldValue, resourceFieldValue } from '@kubus/container-config';
import { type DownwardApiVolumeFile, type Pod, joinErrors } from '@kubus/contracts';
import type { PlannedFile, SourceFiles } from './planned-file.ts';

type Resources = Readonly<Record<string, string>>;

/**
 * The fields of a pod as files for its containers (behaviour:volumes, downwardAPI). Fields of its metadata and the
 * resources of its containers are available; addresses are not, because they are known only after the volumes.
 *
 * @param allocatable the node's allocatable resources; undefined as long as they are not known
 */
export function downwardFiles(
  pod: Pod,
  { items = [], mode }: { items?: readonly DownwardApiVolumeFile[] | undefined; mode: number },
  allocatable: Resources | undefined,
): SourceFiles {
  if (allocatable === undefined && items.some(({ resourceFieldRef }) => resourceFieldRef !== undefined)) {
    return { awaits: 'the allocatable resources of the node' };
  }
  const errors: string[] = [];
  const files = items.map((item): PlannedFile => {
    let text = '';
    try {
      text = valueOf(pod, item, allocatable ?? {});
    } catch (error) {
      if (!(error instanceof ContainerConfigError)) throw error;
      errors.push(error.message);
    }
    return { path: item.path, mode: item.mode ?? mode, source: { kind: 'text', text } };
  });
  return errors.length === 0 ? { files } : { refusal: joinErrors(errors) };
}

/** Whether resources of containers are in a volume of the pod. */
export function hasResourceFields({ spec }: Pick<Pod, 'spec'>): boolean {
  const sources = (spec.volumes ?? []).flatMap(({ downwardAPI, projected }) => [
    downwardAPI,
    ...(projected?.sources ?? []).map((source) => source.downwardAPI),
  ]);
  return sources.some((source) => (source?.items ?? []).some(({ resourceFieldRef }) => resourceFieldRef !== undefined));
}

function valueOf(pod: Pod, { fieldRef, resourceFieldRef }: DownwardApiVolumeFile, allocatable: Resources): string {
  if (fieldRef !== undefined) {
    if (fieldRef.fieldPath.startsWith('metadata.')) return fieldValue(pod, fieldRef, {});
    throw new ContainerConfigError(`unsupported fieldPath: ${fieldRef.fieldPath}`);
  }
  if (resourceFieldRef === undefined) return '';
  const { containerName = '' } = resourceFieldRef;
  const { containers, initContainers = [] } = pod.spec;
  const container = [...containers, ...initContainers].find(({ name }) => name === containerName);
  if (container === undefined) throw new ContainerConfigError(`container ${containerName} not found`);
  return resourceFieldValue(pod, container, resourceFieldRef, { allocatable });
}
