import {
  ContainerConfigError,
  SandboxConfigError,
  completeEnvironment,
  environmentObjects,
  pullSecrets,
  referencedObjects,
} from '@kubus/container-config';
import {
  type ContainerProcess,
  type ObjectReference,
  type ObjectVersion,
  type Pod,
  type ProcessToComplete,
  type ServiceAddress,
  objectKey,
} from '@kubus/contracts';
import { RETRY_MS, TryAgain } from '../sync/errors.ts';
import { type PodSync, type StatusSync, recordEvent } from '../sync/pod-sync.ts';
import { type Round, starts } from '../sync/step.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';
import { isFromApi } from './object-facts.ts';

/** What reading the API server's objects uses. */
export type ObjectSync = PodSync & Pick<WorkerDeps, 'objects'>;

/**
 * No container of a pod is started before the object cache has read the objects that the pod refers to, even if they do not exist.
 * Static pods refer to none, and take the services that are known at the time (behaviour:environment-and-dns, Service env).
 * Throws {@link TryAgain}.
 */
export function checkObjects(sync: ObjectSync & Pick<StatusSync, 'publishStatus'>, { pod, actions }: Round): void {
  if (!starts(actions) || !isFromApi(pod)) return;
  const { objects } = sync;
  const unread = referencedObjects(pod).filter((one) => objects.get(one) === undefined);
  const missing = unread.length > 0 ? notRead(unread.map(objectKey).join(', ')) : undefined;
  const services = 'services have not yet been read at least once, cannot construct envvars';
  const reason = missing ?? (objects.services(pod).read ? undefined : services);
  if (reason === undefined) return;
  sync.publishStatus();
  throw new TryAgain(reason, RETRY_MS);
}

/** The services from which a pod's containers may get variables. */
export function knownServices({ objects }: ObjectSync, pod: Pod): readonly ServiceAddress[] {
  return objects.services(pod).known;
}

/**
 * A container's process with the objects that it refers to, at the versions that are known at this time.
 *
 * Throws a ContainerConfigError when a required object or key is missing.
 */
export function processToComplete(sync: ObjectSync, pod: Pod, process: ContainerProcess): ProcessToComplete {
  // The keys decide whether it can be completed; the values are not stored here.
  const keysOf = (object: ObjectReference) => keysAsData(sync, object);
  completeEnvironment(process.environment, isFromApi(pod) ? keysOf : undefined);
  return { ...process, objects: present(sync, environmentObjects(process.environment)) };
}

/** The pod's pull Secrets that exist. */
export function presentPullSecrets(sync: ObjectSync): ObjectVersion[] {
  return sync.pod === undefined ? [] : present(sync, pullSecrets(sync.pod));
}

/** An image may be available without its Secret; an event reports the missing Secret (behaviour:pod-workers, step 11). */
export function reportMissingPullSecrets(sync: ObjectSync, pod: Pod): void {
  const missing = pullSecrets(pod).filter((one) => sync.objects.get(one)?.state !== 'present');
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(', ');
  const message = `Unable to retrieve some image pull secrets (${names}); attempting to pull the image may not succeed.`;
  recordEvent(sync, { type: 'Warning', reason: 'FailedToRetrieveImagePullSecret', message });
}

/**
 * The runtime handler of a pod's class; undefined for the runtime's default. A node without an API server has no classes
 * and ignores the name, as the reference kubelet does.
 *
 * Throws a SandboxConfigError when the class does not exist, a {@link TryAgain} until the classes have been read.
 */
export function runtimeHandler({ objects }: ObjectSync, { spec }: Pod): string | undefined {
  const { runtimeClassName: name = '' } = spec;
  if (name === '' || objects.hasApi === false) return undefined;
  const found = objects.runtimeClass(name);
  if (found === 'unread') throw new TryAgain(notRead(`RuntimeClass ${name}`), RETRY_MS);
  if (found === 'missing') throw new SandboxConfigError(`runtimeclass.node.k8s.io "${name}" not found`);
  return found.handler;
}

function present({ objects }: ObjectSync, references: readonly ObjectReference[]): ObjectVersion[] {
  return references.flatMap((one) => {
    const found = objects.get(one);
    return found?.state === 'present' ? [{ ...one, version: found.version }] : [];
  });
}

function keysAsData({ objects }: ObjectSync, object: ObjectReference): Record<string, string> | undefined {
  const found = objects.get(object);
  if (found === undefined) throw new TryAgain(notRead(objectKey(object)), RETRY_MS);
  if (found.state === 'refused') throw new ContainerConfigError(found.message, { missing: object });
  return found.state === 'present' ? Object.fromEntries(found.keys.map((key) => [key, ''])) : undefined;
}

function notRead(objects: string): string {
  return `not yet read from the API server: ${objects}`;
}
