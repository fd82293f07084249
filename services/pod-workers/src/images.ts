import { CommandFailed } from '@kubus/bus';
import { type ImageUser, imageUser } from '@kubus/container-config';
import { type Container, type ImageRequest, type Pod, type Pulled, findImage, pullImage } from '@kubus/contracts';
import { pullFailure, pulledMessage } from '@kubus/image-manager';
import {
  type WantedImage,
  backOffRemaining,
  imageDecision,
  imageToPull,
  lengthenBackOff,
  needsLook,
} from '@kubus/pod-lifecycle';
import { KubusError } from '@kubus/ports';
import type { Image, PodSandboxConfig } from '@kubus/proto/cri';
import { presentPullSecrets } from './objects.ts';
import { type Pass, recordEvent, unlessCancelled } from './pass.ts';
import { isAnswer, throwIfObjectsAwaited } from './runtime-answer.ts';

/** The container can not have its image now. `code` is the waiting reason that users know. */
export class ImageError extends KubusError {
  /** Milliseconds until it makes sense to try again. */
  readonly waitMs: number | undefined;

  constructor(code: string, message: string, waitMs?: number) {
    super(code, message);
    this.waitMs = waitMs;
  }
}

export interface ContainerImage {
  /** As the runtime has it. */
  readonly id: string;
  /** Undefined where the runtime does not tell of the image. */
  readonly user: ImageUser | undefined;
}

/** An image that a pod names. */
export interface NamedImage extends WantedImage {
  /** The container that runs it; undefined for one that the pod has as a volume. */
  readonly container?: Container | undefined;
}

interface Wanted extends NamedImage {
  readonly pod: Pod;
  readonly request: ImageRequest;
  readonly sandboxConfig: PodSandboxConfig;
}

/** Makes sure that the runtime has an image and that the pod may use it (kubelet behaviour 1.8). Throws {@link ImageError}. */
export async function ensureImage(
  pass: Pass,
  pod: Pod,
  named: NamedImage,
  sandboxConfig: PodSandboxConfig,
): Promise<ContainerImage> {
  const { name, container } = named;
  const image = imageToPull(name) ?? name;
  const { serviceAccountName: serviceAccount = '' } = pod.spec;
  const account = serviceAccount === '' ? {} : { serviceAccount };
  const request = { image, pod: pass.ref, pullSecrets: presentPullSecrets(pass), ...account };
  const wanted: Wanted = { ...named, pod, request, sandboxConfig };
  const looked = needsLook(named);
  const present = looked ? await findUsable(pass, wanted) : undefined;
  const decision = imageDecision(named, present !== undefined);
  const pulls = decision.kind === 'fail' ? undefined : decision.kind === 'pull';
  pass.deps.metrics.image(named.policy ?? 'IfNotPresent', looked ? present !== undefined : undefined, pulls);
  switch (decision.kind) {
    case 'fail': {
      const event = decision.reason === 'InvalidImageName' ? 'InspectFailed' : decision.reason;
      recordEvent(pass, { type: 'Warning', reason: event, message: decision.message, container });
      throw new ImageError(decision.reason, decision.message);
    }
    case 'use': {
      const message = `Container image "${name}" already present on machine and can be accessed by the pod`;
      recordEvent(pass, { type: 'Normal', reason: 'Pulled', message, container });
      return described(present, image);
    }
    case 'pull':
      return pull(pass, wanted);
  }
}

async function findUsable(pass: Pass, { name, container, request }: Wanted): Promise<Image | undefined> {
  try {
    const { result } = await pass.deps.bus.call(findImage, pass.ref.uid, request, { causes: pass.runtime.cause });
    return result.mayUse ? result.image : undefined;
  } catch (error) {
    throwIfObjectsAwaited(error);
    if (!isAnswer(error)) throw error;
    const message = `Failed to inspect image "${name}": ${error.message}`;
    recordEvent(pass, { type: 'Warning', reason: 'InspectFailed', message, container });
    throw new ImageError('ImageInspectError', message);
  }
}

async function pull(pass: Pass, wanted: Wanted): Promise<ContainerImage> {
  const { name, container, request } = wanted;
  const { clock } = pass.deps;
  const key = `image/${request.image}`;
  const entry = pass.backOffs.get(key);
  const remaining = entry === undefined ? 0 : backOffRemaining(entry, entry.updatedAt, clock.now());
  if (remaining > 0) {
    const message = `Back-off pulling image "${name}"`;
    recordEvent(pass, { type: 'Normal', reason: 'BackOff', message, container });
    const before = entry?.error === undefined ? '' : `: ${entry.error}`;
    throw new ImageError('ImagePullBackOff', message + before, remaining);
  }
  recordEvent(pass, { type: 'Normal', reason: 'Pulling', message: `Pulling image "${name}"`, container });
  const began = clock.now();
  try {
    const { imageRef, image, pullMs } = await askForPull(pass, wanted);
    const message = pulledMessage(name, { pullMs, wholeMs: clock.now() - began }, image?.size ?? '0');
    recordEvent(pass, { type: 'Normal', reason: 'Pulled', message, container });
    return described(image, imageRef);
  } catch (error) {
    throwIfObjectsAwaited(error);
    // Only the runtime's own answer is a failed pull; a lost bus or bridge is waited for inside of the call.
    if (!(error instanceof CommandFailed && error.code === 'pull-failed')) throw error;
    const message = `Failed to pull image "${name}": ${error.message}`;
    recordEvent(pass, { type: 'Warning', reason: 'Failed', message, container });
    const failure = pullFailure(name, error.message);
    const longer = lengthenBackOff(entry, clock.now(), clock.now());
    pass.backOffs.set(key, { ...longer, error: `${failure.reason}: ${failure.message}` });
    await pass.save();
    throw new ImageError(failure.reason, failure.message, longer.waitMs);
  }
}

async function askForPull(pass: Pass, { pod, request, sandboxConfig }: Wanted): Promise<Pulled> {
  const annotations = pod.metadata.annotations ?? {};
  const asked = { ...request, annotations, sandboxConfig };
  const call = pass.deps.bus.call(pullImage, pass.ref.uid, asked, { causes: pass.runtime.cause });
  return (await unlessCancelled(pass, call)).result;
}

function described(image: Image | undefined, otherwise: string): ContainerImage {
  return { id: image?.id ?? otherwise, user: image && imageUser(image) };
}
