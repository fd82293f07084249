import { type Cause, CommandFailed } from '@kubus/bus';
import { type ImageUser, imageUser } from '@kubus/container-config';
import { type Container, type ImageRequest, type Pod, type Pulled, pullImage } from '@kubus/contracts';
import { pullFailure, pulledMessage } from '@kubus/images';
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
import { type ObjectSync, presentPullSecrets } from '../objects/objects.ts';
import { isAnswer, throwIfObjectsAwaited } from '../runtime/runtime-answer.ts';
import { TRANSIENT_MS } from '../sync/errors.ts';
import { type RecordSync, recordEvent, unlessCancelled } from '../sync/pod-sync.ts';
import type { PodMemory } from '../worker/pod-memory.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';
import { type Found, ImageSearch } from './image-search.ts';

/** What getting an image uses. */
export type ImageSync = ObjectSync &
  RecordSync &
  Pick<PodMemory, 'backOffs'> &
  Pick<WorkerDeps, 'bus' | 'clock' | 'metrics'>;

/** Thrown when a container cannot get its image at this time. `code`: the waiting reason. */
export class ImageError extends KubusError {
  /** Milliseconds until a retry is useful. */
  readonly waitMs: number | undefined;

  constructor(code: string, message: string, waitMs?: number) {
    super(code, message);
    this.waitMs = waitMs;
  }
}

export interface ContainerImage {
  /** The runtime's ID of the image. */
  readonly id: string;
  /** Undefined when the runtime does not describe the image. */
  readonly user: ImageUser | undefined;
  /** The message that said that the runtime has it. */
  readonly cause: Cause | undefined;
}

/** An image that a pod names. */
export interface NamedImage extends WantedImage {
  /** The container that runs it; undefined for an image that the pod uses as a volume. */
  readonly container?: Container | undefined;
}

interface Wanted extends NamedImage {
  readonly pod: Pod;
  readonly request: ImageRequest;
  readonly from: ImageSource;
}

/** Where a pod's images come from. */
export interface ImageSource {
  readonly search: ImageSearch;
  /** The configuration of the sandbox for which they are pulled. */
  readonly config: PodSandboxConfig;
}

/** A search for all images that these containers and the pod's volumes need. */
export function searchImages(
  sync: ObjectSync & Pick<WorkerDeps, 'bus'>,
  pod: Pod,
  containers: readonly Container[],
): ImageSearch {
  const named = [
    ...(pod.spec.volumes ?? []).flatMap(({ image }) => image ?? []),
    ...containers.map(({ image: reference, imagePullPolicy: pullPolicy }) => ({ reference, pullPolicy })),
  ].map(({ reference: name = '', pullPolicy: policy }) => ({ name, policy }));
  const images = new Set(named.filter(needsLook).map(({ name }) => nameAtRuntime(name)));
  return new ImageSearch(sync, forPod(sync, pod), [...images]);
}

/** Makes sure that the runtime has an image and that the pod may use it (behaviour:images). Throws {@link ImageError}. */
export async function ensureImage(
  sync: ImageSync,
  pod: Pod,
  named: NamedImage,
  from: ImageSource,
): Promise<ContainerImage> {
  const { name, container } = named;
  const image = nameAtRuntime(name);
  const wanted: Wanted = { ...named, pod, request: { image, ...forPod(sync, pod) }, from };
  const looked = needsLook(named);
  const present = looked ? await findUsable(sync, wanted) : undefined;
  const decision = imageDecision(named, present !== undefined);
  const pulls = decision.kind === 'fail' ? undefined : decision.kind === 'pull';
  sync.metrics.image(named.policy ?? 'IfNotPresent', looked ? present !== undefined : undefined, pulls);
  switch (decision.kind) {
    case 'fail': {
      const event = decision.reason === 'InvalidImageName' ? 'InspectFailed' : decision.reason;
      recordEvent(sync, { type: 'Warning', reason: event, message: decision.message, container });
      throw new ImageError(decision.reason, decision.message);
    }
    case 'use': {
      const message = `Container image "${name}" already present on machine and can be accessed by the pod`;
      recordEvent(sync, { type: 'Normal', reason: 'Pulled', message, container });
      return { ...described(present?.image, image), cause: present?.cause };
    }
    case 'pull':
      return pull(sync, wanted);
  }
}

function nameAtRuntime(name: string): string {
  return imageToPull(name) ?? name;
}

/** What a request about an image says about its pod. */
function forPod(sync: ObjectSync, { spec }: Pod): Omit<ImageRequest, 'image'> {
  const { serviceAccountName: serviceAccount = '' } = spec;
  const account = serviceAccount === '' ? {} : { serviceAccount };
  return { pod: sync.ref, pullSecrets: presentPullSecrets(sync), ...account };
}

async function findUsable(sync: ImageSync, { name, container, request, from }: Wanted): Promise<Found | undefined> {
  try {
    const found = await from.search.find(request.image);
    return found.mayUse && found.image !== undefined ? found : undefined;
  } catch (error) {
    throwIfObjectsAwaited(error);
    if (!isAnswer(error)) throw error;
    const message = `Failed to inspect image "${name}": ${error.message}`;
    recordEvent(sync, { type: 'Warning', reason: 'InspectFailed', message, container });
    throw new ImageError('ImageInspectError', message);
  }
}

async function pull(sync: ImageSync, wanted: Wanted): Promise<ContainerImage> {
  const { name, container, request } = wanted;
  const { clock } = sync;
  const key = `image/${request.image}`;
  const entry = sync.backOffs.get(key);
  const remaining = entry === undefined ? 0 : backOffRemaining(entry, entry.updatedAt, clock.now());
  if (remaining > 0) {
    const message = `Back-off pulling image "${name}"`;
    recordEvent(sync, { type: 'Normal', reason: 'BackOff', message, container });
    const before = entry?.error === undefined ? '' : `: ${entry.error}`;
    throw new ImageError('ImagePullBackOff', message + before, remaining);
  }
  recordEvent(sync, { type: 'Normal', reason: 'Pulling', message: `Pulling image "${name}"`, container });
  const began = clock.now();
  try {
    const { imageRef, image, pullMs } = await requestPull(sync, wanted);
    wanted.from.search.forget();
    const message = pulledMessage(name, { pullMs, wholeMs: clock.now() - began }, image?.size ?? '0');
    recordEvent(sync, { type: 'Normal', reason: 'Pulled', message, container });
    return described(image, imageRef);
  } catch (error) {
    throwIfObjectsAwaited(error);
    // Only an answer of the runtime is a failed pull; the call itself waits while the bus or the bridge is lost.
    if (!(error instanceof CommandFailed && error.code === 'pull-failed')) throw error;
    const message = `Failed to pull image "${name}": ${error.message}`;
    recordEvent(sync, { type: 'Warning', reason: 'Failed', message, container });
    const failure = pullFailure(name, error.message);
    const longer = lengthenBackOff(entry, clock.now(), clock.now());
    sync.backOffs.set(key, { ...longer, error: `${failure.reason}: ${failure.message}` });
    await sync.save();
    // The next sync soon shows that the image is waited for.
    throw new ImageError(failure.reason, failure.message, TRANSIENT_MS);
  }
}

async function requestPull(sync: ImageSync, { pod, request, from }: Wanted): Promise<Pulled> {
  const annotations = pod.metadata.annotations ?? {};
  const wanted = { ...request, annotations, sandboxConfig: from.config };
  const call = sync.bus.call(pullImage, sync.ref.uid, wanted, { causes: sync.runtime.cause });
  return (await unlessCancelled(sync, call)).result;
}

function described(image: Image | undefined, otherwise: string): ContainerImage {
  return { id: image?.id ?? otherwise, user: image && imageUser(image), cause: undefined };
}
