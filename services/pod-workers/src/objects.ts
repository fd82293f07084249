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
import { isFromApi } from './object-facts.ts';
import { type Pass, RETRY_MS, TryAgain, recordEvent } from './pass.ts';

/**
 * Nothing of a pod is started before it is known how the objects stand that it refers to, be they there or not. Static pods
 * refer to none, and take the services that happen to be known (kubelet behaviour 1.15, Service env).
 */
export function checkObjects(pass: Pass, pod: Pod): void {
  if (!isFromApi(pod)) return;
  const { objects } = pass.deps;
  const unread = referencedObjects(pod).filter((one) => objects.get(one) === undefined);
  const missing = unread.length > 0 ? `nobody has looked yet for ${unread.map(objectKey).join(', ')}` : undefined;
  const services = 'services have not yet been read at least once, cannot construct envvars';
  const reason = missing ?? (objects.services(pod).read ? undefined : services);
  if (reason === undefined) return;
  pass.publishStatus();
  throw new TryAgain(reason, RETRY_MS);
}

/** The services from which a pod's containers may get variables. */
export function knownServices({ deps }: Pass, pod: Pod): readonly ServiceAddress[] {
  return deps.objects.services(pod).known;
}

/**
 * A container's process with the objects that it is completed with, at the versions that are known now.
 *
 * Throws ContainerConfigError when an object or a key is missing that is not optional.
 */
export function processToComplete(pass: Pass, pod: Pod, process: ContainerProcess): ProcessToComplete {
  // Keys decide whether it can be completed; the values are elsewhere.
  const keysOf = (object: ObjectReference) => keysAsData(pass, object);
  completeEnvironment(process.environment, isFromApi(pod) ? keysOf : undefined);
  return { ...process, objects: present(pass, environmentObjects(process.environment)) };
}

/** The pod's pull Secrets that are there. */
export function presentPullSecrets(pass: Pass): ObjectVersion[] {
  return pass.pod === undefined ? [] : present(pass, pullSecrets(pass.pod));
}

/** An image may be had without its Secret; the pod's user learns that it is missing (kubelet behaviour 1.3, step 11). */
export function tellMissingPullSecrets(pass: Pass, pod: Pod): void {
  const missing = pullSecrets(pod).filter((one) => pass.deps.objects.get(one)?.state !== 'present');
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(', ');
  const message = `Unable to retrieve some image pull secrets (${names}); attempting to pull the image may not succeed.`;
  recordEvent(pass, { type: 'Warning', reason: 'FailedToRetrieveImagePullSecret', message });
}

/**
 * The runtime handler of a pod's class; undefined for the runtime's own choice. A node without an API server has no classes
 * and ignores the name, as the reference kubelet does.
 *
 * Throws SandboxConfigError when there is no such class.
 */
export function runtimeHandler({ deps }: Pass, { spec }: Pod): string | undefined {
  const { runtimeClassName: name = '' } = spec;
  if (name === '' || deps.objects.hasApi === false) return undefined;
  const found = deps.objects.runtimeClass(name);
  if (found === 'unread') throw new TryAgain(`nobody has looked yet for RuntimeClass ${name}`, RETRY_MS);
  if (found === 'missing') throw new SandboxConfigError(`runtimeclass.node.k8s.io "${name}" not found`);
  return found.handler;
}

function present({ deps }: Pass, objects: readonly ObjectReference[]): ObjectVersion[] {
  return objects.flatMap((one) => {
    const found = deps.objects.get(one);
    return found?.state === 'present' ? [{ ...one, version: found.version }] : [];
  });
}

function keysAsData({ deps }: Pass, object: ObjectReference): Record<string, string> | undefined {
  const found = deps.objects.get(object);
  if (found === undefined) throw new TryAgain(`nobody has looked yet for ${objectKey(object)}`, RETRY_MS);
  if (found.state === 'refused') throw new ContainerConfigError(found.message, { missing: object });
  return found.state === 'present' ? Object.fromEntries(found.keys.map((key) => [key, ''])) : undefined;
}
