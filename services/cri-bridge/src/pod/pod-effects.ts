import type { FencedMethod } from '@kubus/contracts';
import { CriError, type CriSituation, situationOf } from '@kubus/cri';
import { type Clock, type Logger, sleep } from '@kubus/ports';
import type { ContainerStatus, CriMethods } from '@kubus/proto/cri';
import { BridgeMetrics } from '../bridge-metrics.ts';
import { UID_LABEL } from './convert.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Milliseconds between checks whether a call from before a crash has ended. */
const LOOK_AGAIN_MS = 200;
/** How long such a call is waited for, in milliseconds: the longest deadline that it can have had. */
const WAIT_LIMIT_MS = 240_000;

type Request<M extends FencedMethod> = CriMethods[M]['request'];
type Response<M extends FencedMethod> = CriMethods[M]['response'];

/**
 * Carries out the calls that change a pod so that each has its effect exactly once, whatever happened to an earlier
 * one: the runtime may still be busy with a call of the previous process, or have finished it unnoticed. What the
 * runtime lists decides, not the error of the call.
 */
export class PodEffects {
  readonly #runtime: Runtime;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #handler: (wanted: string) => Promise<string | undefined>;
  readonly #metrics: BridgeMetrics;

  /** @param handler maps the requested runtime handler to the one to use; see `RuntimeWatch.handler` */
  constructor(options: {
    runtime: Runtime;
    clock: Clock;
    logger: Logger;
    handler: (wanted: string) => Promise<string | undefined>;
    /** Default: nothing is measured. */
    metrics?: BridgeMetrics | undefined;
  }) {
    this.#runtime = options.runtime;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#handler = options.handler;
    this.#metrics = options.metrics ?? new BridgeMetrics();
  }

  perform<M extends FencedMethod>(method: M, pod: string, params: Request<M>): Promise<Response<M>>;
  async perform(method: FencedMethod, pod: string, params: object): Promise<object> {
    switch (method) {
      case 'RunPodSandbox':
        return this.#measuredSandbox(pod, params);
      case 'CreateContainer':
        return this.#createContainer(params);
      case 'StartContainer':
        return this.#startContainer(params);
      case 'StopContainer':
      case 'StopPodSandbox':
      case 'RemoveContainer':
      case 'RemovePodSandbox':
        return this.#unlessRemoved(method, params);
      default:
        return this.#runtime.call(method, params);
    }
  }

  async #measuredSandbox(pod: string, params: Request<'RunPodSandbox'>): Promise<Response<'RunPodSandbox'>> {
    const { runtimeHandler: handler = '' } = params;
    const began = this.#clock.now();
    let failed = true;
    try {
      const made = await this.#runSandbox(pod, params);
      failed = false;
      return made;
    } finally {
      this.#metrics.sandbox(handler, this.#clock.now() - began, failed);
    }
  }

  async #runSandbox(pod: string, params: Request<'RunPodSandbox'>): Promise<Response<'RunPodSandbox'>> {
    const { runtimeHandler: wanted = '', ...rest } = params;
    const handler = await this.#handler(wanted);
    const request = handler === undefined ? rest : { ...rest, runtimeHandler: handler };
    const attempt = params.config?.metadata?.attempt ?? 0;
    return this.#untilSettled('RunPodSandbox', () => this.#runtime.call('RunPodSandbox', request), {
      look: async () => {
        const filter = { labelSelector: { [UID_LABEL]: pod } };
        const { items = [] } = await this.#runtime.call('ListPodSandbox', { filter });
        const made = items.find(({ metadata }) => (metadata?.attempt ?? 0) === attempt);
        if (made === undefined) return undefined;
        return made.state === 'SANDBOX_READY' ? { podSandboxId: made.id ?? '' } : 'unusable';
      },
      busy: 'name-reserved',
    });
  }

  async #createContainer(params: Request<'CreateContainer'>): Promise<Response<'CreateContainer'>> {
    const { name = '', attempt = 0 } = params.config?.metadata ?? {};
    return this.#untilSettled('CreateContainer', () => this.#runtime.call('CreateContainer', params), {
      look: async () => {
        const filter = { podSandboxId: params.podSandboxId ?? '' };
        const { containers = [] } = await this.#runtime.call('ListContainers', { filter });
        const made = containers.find(({ metadata }) => metadata?.name === name && (metadata.attempt ?? 0) === attempt);
        if (made === undefined) return undefined;
        return made.state === 'CONTAINER_CREATED' ? { containerId: made.id ?? '' } : 'unusable';
      },
      busy: 'name-reserved',
    });
  }

  async #startContainer(params: Request<'StartContainer'>): Promise<Response<'StartContainer'>> {
    return this.#untilSettled('StartContainer', () => this.#runtime.call('StartContainer', params), {
      look: async () => {
        const { status } = await this.#runtime.call('ContainerStatus', { containerId: params.containerId ?? '' });
        if (status?.state === 'CONTAINER_CREATED') return undefined;
        // A container that has run and ended was started too.
        return status !== undefined && hasRun(status) ? {} : 'unusable';
      },
      busy: 'starting',
    });
  }

  /**
   * Calls the runtime, and on an error checks what it has: the wanted result (done), an unusable one (the error
   * stands), or nothing. With nothing, the call is repeated if an earlier one conflicted with it or the connection was
   * lost; otherwise the error stands.
   */
  async #untilSettled<T>(
    method: FencedMethod,
    call: () => Promise<T>,
    options: { look: () => Promise<T | 'unusable' | undefined>; busy: CriSituation },
  ): Promise<T> {
    const end = this.#clock.now() + WAIT_LIMIT_MS;
    for (;;) {
      const error = await call().then(
        (result) => ({ result }),
        (thrown: unknown) => ({ thrown }),
      );
      if ('result' in error) return error.result;
      const { thrown } = error;
      const unreachable = thrown instanceof CriError && thrown.code === 'Unavailable';
      if (unreachable) await this.#connected();
      const found = await options.look();
      if (found !== undefined && found !== 'unusable') {
        this.#logger.info({ method, err: thrown }, 'an earlier call already succeeded');
        return found;
      }
      const again = found === undefined && (unreachable || situationOf(thrown) === options.busy);
      if (!again || this.#clock.now() > end) throw thrown;
      await sleep(this.#clock, LOOK_AGAIN_MS);
    }
  }

  /** Stops or removes; something that no longer exists counts as done. */
  async #unlessRemoved(method: FencedMethod, params: object): Promise<object> {
    for (;;) {
      try {
        return await this.#runtime.call(method, params);
      } catch (error) {
        if (error instanceof CriError && error.code === 'NotFound') return {};
        if (!(error instanceof CriError && error.code === 'Unavailable')) throw error;
        await this.#connected();
      }
    }
  }

  /** Resolves once the runtime can be reached. */
  #connected(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const end = this.#runtime.watchConnection((connection) => {
      if (connection === 'connected') resolve(undefined);
    });
    return promise.finally(end);
  }
}

function hasRun(status: ContainerStatus): boolean {
  return status.startedAt !== undefined && status.startedAt !== '0';
}
