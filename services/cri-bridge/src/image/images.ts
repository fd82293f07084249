import type { Bus, CommandContext } from '@kubus/bus';
import {
  type FindRequest,
  type FoundImage,
  type FoundImages,
  type ImageRequest,
  type PullRequest,
  type Pulled,
  bareImageName,
  findImage,
  joinErrors,
  pullImage,
  rpcErrorText,
} from '@kubus/contracts';
import { CriError } from '@kubus/cri';
import {
  type Credential,
  CredentialsError,
  type Verification,
  type WayOut,
  explainUnreachable,
  pullCheck,
} from '@kubus/images';
import { type Clock, KubusError, type Logger, toError } from '@kubus/ports';
import type { Image } from '@kubus/proto/cri';
import { BridgeMetrics } from '../bridge-metrics.ts';
import { ImagePulls, type PullLimits, type PullTask } from './image-pulls.ts';
import { type PullCredentials, pullSecretOf } from '../credentials/pull-credentials.ts';
import type { PulledImages } from './pulled-images.ts';
import type { Runtime } from '../runtime/runtime.ts';

export interface ImagesOptions {
  readonly runtime: Runtime;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly credentials: PullCredentials;
  readonly pulled: PulledImages;
  readonly limits: PullLimits;
  readonly verification: Verification;
  /** How the node reaches registries. Default: over the machine's own network. */
  readonly wayOut?: WayOut | undefined;
  /** Default: nothing is measured. */
  readonly metrics?: BridgeMetrics | undefined;
  /** Called when a pod is allowed to use the image with this id. */
  readonly onGiven: (id: string) => void;
}

/** Serves image commands of pods: whether they may use an existing image, and pulls. */
export class Images {
  readonly #options: ImagesOptions;
  readonly #pulls: ImagePulls;
  readonly #metrics: BridgeMetrics;

  constructor(options: ImagesOptions) {
    this.#options = options;
    const { bus, clock, limits, metrics = new BridgeMetrics() } = options;
    this.#metrics = metrics;
    this.#pulls = new ImagePulls({ bus, clock, limits, perform: (task) => this.#perform(task) });
  }

  /** Numbers of running pulls, and of those waiting for a turn. */
  get pulls(): { pulling: number; waiting: number } {
    return this.#pulls.count;
  }

  serve(): void {
    const { bus } = this.#options;
    bus.serve(findImage, (command) => {
      command.begin();
      return this.#findAll(command.request);
    });
    bus.serve(pullImage, (command) => this.#pull(command));
  }

  /** Checks which pulls of earlier processes have succeeded. To be called once the runtime answers. */
  async settleStarted(): Promise<void> {
    const { pulled, logger } = this.#options;
    for (const image of pulled.started) {
      try {
        const id = (await this.#status(image))?.id;
        if (id !== undefined) await pulled.settle(image, id);
      } catch (error) {
        logger.warn({ image, err: toError(error) }, 'cannot find out how an earlier pull ended');
      }
    }
  }

  /** Only the first image's failure is one of the command. */
  async #findAll({ others = [], ...request }: FindRequest): Promise<FoundImages> {
    const [first, ...found] = await Promise.all([
      this.#find(request),
      ...others.map((image) => this.#find({ ...request, image }).catch(() => undefined)),
    ]);
    const entries = found.flatMap((one, index) => (one === undefined ? [] : [[others[index] ?? '', one] as const]));
    return { ...first, ...(entries.length > 0 && { others: Object.fromEntries(entries) }) };
  }

  async #find(request: ImageRequest): Promise<FoundImage> {
    const { image: asked, pullSecrets, serviceAccount } = request;
    const { credentials, pulled, verification } = this.#options;
    const image = await this.#status(asked);
    if (image?.id === undefined) return { mayUse: false };
    const record = pulled.get(image.id);
    const name = bareImageName(asked) ?? asked;
    const present = { name, record, pullBegan: pulled.isStarted(asked), podSecrets: [] };
    let check = pullCheck(present, verification);
    const hasOwn = pullSecrets.length > 0 || serviceAccount !== undefined;
    // The pod's own credentials are read only when they matter.
    if (check === 'mustAuthenticate' && record?.names[name] !== undefined && hasOwn) {
      const own = await credentials.ofPod(request).catch(noneOfBad);
      const podSecrets = own.map(pullSecretOf).filter((secret) => secret !== undefined);
      check = pullCheck({ ...present, podSecrets }, verification);
      if (check !== 'mustAuthenticate') await pulled.used(record, name, podSecrets);
    }
    this.#metrics.checked(check);
    const allowed = check !== 'mustAuthenticate';
    if (allowed) this.#options.onGiven(image.id);
    return { image, mayUse: allowed };
  }

  async #pull(command: CommandContext<PullRequest>): Promise<Pulled> {
    const { request } = command;
    const { clock, credentials: known } = this.#options;
    const credentials = await known.all(request).catch(asFailure);
    const began = clock.now();
    const pulled = await this.#pulls.pull({ request, credentials, command });
    this.#metrics.pulled(Number(pulled.image?.size ?? 0), clock.now() - began);
    return pulled;
  }

  async #perform({ request, credentials }: PullTask): Promise<Omit<Pulled, 'pullMs'>> {
    const { pulled, onGiven } = this.#options;
    const { image: asked } = request;
    await pulled.begin(asked);
    let done: { imageRef: string; credential: Credential | undefined };
    try {
      done = await this.#tryCredentials(request, credentials);
    } catch (error) {
      // When the connection was lost, the runtime may have the image anyway.
      if (error instanceof KubusError && error.code === 'pull-failed') await pulled.fail(asked);
      throw error;
    }
    const image = await this.#status(asked).catch(() => undefined);
    const imageRef = image?.id ?? done.imageRef;
    const name = bareImageName(asked) ?? asked;
    await pulled.succeed(asked, { imageRef, name, secret: pullSecretOf(done.credential) });
    onGiven(imageRef);
    return { imageRef, ...(image !== undefined && { image }) };
  }

  /** Tries the credentials in order until one works. */
  async #tryCredentials(
    { image, annotations, sandboxConfig }: PullRequest,
    credentials: readonly Credential[],
  ): Promise<{ imageRef: string; credential: Credential | undefined }> {
    const errors: string[] = [];
    for (const credential of credentials.length === 0 ? [undefined] : credentials) {
      const auth = credential && { username: credential.username, password: credential.password };
      try {
        const { imageRef = '' } = await this.#options.runtime.call('PullImage', {
          image: { image, annotations },
          ...(auth !== undefined && { auth }),
          ...(sandboxConfig !== undefined && { sandboxConfig }),
        });
        return { imageRef, credential };
      } catch (error) {
        if (!isAnswer(error, image)) throw error;
        errors.push(textOf(error));
      }
    }
    const text = explainUnreachable(image, joinErrors(errors), this.#options.wayOut);
    throw new KubusError('pull-failed', text, { context: { image } });
  }

  async #status(image: string): Promise<Image | undefined> {
    return (await this.#options.runtime.call('ImageStatus', { image: { image } })).image;
  }
}

/**
 * Whether the runtime itself reports the failed pull: it names the image then. Otherwise the connection was lost,
 * which says nothing about the image.
 */
function isAnswer(error: unknown, image: string): error is CriError {
  if (!(error instanceof CriError)) return false;
  return error.code !== 'Unavailable' || error.details.includes(bareImageName(image) ?? image);
}

/** As a gRPC status is written; for the code Unknown, which adds nothing, the text alone. */
function textOf({ code, details }: CriError): string {
  return code === 'Unknown' ? details : rpcErrorText({ code, message: details });
}

/** A Secret that contains no credentials is the pod's fault, like a wrong password. */
function asFailure(error: unknown): never {
  if (!(error instanceof CredentialsError)) throw error;
  throw new KubusError('pull-failed', error.message, { cause: error });
}

/** Such a Secret yields no credentials; the pull that follows reports the error. */
function noneOfBad(error: unknown): Credential[] {
  if (!(error instanceof CredentialsError)) throw error;
  return [];
}
