import { CommandFailed } from '@kubus/bus';
import { type ImageUser, imageUser } from '@kubus/container-config';
import { type Container, criCommands } from '@kubus/contracts';
import {
  backOffRemaining,
  formatWait,
  imageDecision,
  imageToPull,
  lengthenBackOff,
  needsLook,
} from '@kubus/pod-lifecycle';
import { KubusError } from '@kubus/ports';
import type { Image } from '@kubus/proto/cri';
import { presentPullSecrets } from './objects.ts';
import { type Pass, recordEvent, unlessCancelled } from './pass.ts';

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

/** Makes sure that the runtime has a container's image (kubelet behaviour 1.8). */
export async function ensureImage(pass: Pass, container: Container): Promise<ContainerImage> {
  const name = container.image ?? '';
  const asked = imageToPull(name) ?? name;
  const present = needsLook(container) ? await findImage(pass, asked) : undefined;
  const decision = imageDecision(container, present !== undefined);
  switch (decision.kind) {
    case 'fail': {
      const event = decision.reason === 'InvalidImageName' ? 'InspectFailed' : decision.reason;
      recordEvent(pass, { type: 'Warning', reason: event, message: decision.message, container });
      throw new ImageError(decision.reason, decision.message);
    }
    case 'use': {
      const message = `Container image "${name}" already present on machine and can be accessed by the pod`;
      recordEvent(pass, { type: 'Normal', reason: 'Pulled', message, container });
      return describe(present, asked);
    }
    case 'pull':
      return pull(pass, container, asked);
  }
}

async function findImage(pass: Pass, image: string): Promise<Image | undefined> {
  const { bus } = pass.deps;
  const { result } = await bus.call(
    criCommands.ImageStatus,
    image,
    { params: { image: { image } } },
    {
      causes: pass.runtime.cause,
    },
  );
  return result.response.image;
}

function describe(image: Image | undefined, asked: string): ContainerImage {
  return { id: image?.id ?? asked, user: image && imageUser(image) };
}

async function pull(pass: Pass, container: Container, image: string): Promise<ContainerImage> {
  const { bus, clock } = pass.deps;
  const key = `image/${image}`;
  const entry = pass.backOffs.get(key);
  const remaining = entry === undefined ? 0 : backOffRemaining(entry, entry.updatedAt, clock.now());
  if (remaining > 0) {
    const message = `Back-off pulling image "${container.image ?? ''}"`;
    recordEvent(pass, { type: 'Normal', reason: 'BackOff', message, container });
    throw new ImageError('ImagePullBackOff', message, remaining);
  }
  recordEvent(pass, {
    type: 'Normal',
    reason: 'Pulling',
    message: `Pulling image "${container.image ?? ''}"`,
    container,
  });
  const began = clock.now();
  try {
    const request = { params: { image: { image } }, pullSecrets: presentPullSecrets(pass) };
    await unlessCancelled(pass, bus.call(criCommands.PullImage, image, request, { causes: pass.runtime.cause }));
  } catch (error) {
    // Only the runtime's own answer is a failed pull; a lost bus or bridge is waited for inside of the call.
    if (!(error instanceof CommandFailed) || error.code === 'Unavailable') throw error;
    pass.backOffs.set(key, lengthenBackOff(entry, clock.now(), clock.now()));
    await pass.save();
    const message = `Failed to pull image "${container.image ?? ''}": ${error.message}`;
    recordEvent(pass, { type: 'Warning', reason: 'Failed', message, container });
    throw new ImageError('ErrImagePull', error.message, pass.backOffs.get(key)?.waitMs);
  }
  const pulled = await findImage(pass, image);
  const took = formatWait(clock.now() - began);
  const message = `Successfully pulled image "${container.image ?? ''}" in ${took} (${took} including waiting). Image size: ${pulled?.size ?? '0'} bytes.`;
  recordEvent(pass, { type: 'Normal', reason: 'Pulled', message, container });
  return describe(pulled, image);
}
