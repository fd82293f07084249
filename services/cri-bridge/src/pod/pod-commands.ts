import { type Bus, type Cause, type CommandContext, formatCause } from '@kubus/bus';
import {
  type CriRequest,
  type CriResult,
  type FencedMethod,
  type ProcessToComplete,
  type RuntimePod,
  SANDBOX_CAUSE,
  type Stamp,
  criCommands,
  fencePod,
  fencedMethods,
  readPod,
} from '@kubus/contracts';
import { ConcurrencyLimit, Lanes } from '@kubus/flow';
import type { ObjectReader } from '@kubus/object-socket';
import { KubusError } from '@kubus/ports';
import { completeCreate } from './objects.ts';
import type { PodEffects } from './pod-effects.ts';
import type { Pleg } from './pleg.ts';
import type { PodValues } from './pod-values.ts';
import { toReplyError } from '../runtime/reply-error.ts';
import type { Stamps } from '../runtime/stamps.ts';

/** These are not queued: stopping a pod must not wait for its start. */
const unqueued: ReadonlySet<FencedMethod> = new Set<FencedMethod>(['StopContainer', 'StopPodSandbox']);

/** Serves the commands that change a pod: fenced, one at a time per pod, each carried out once (rule:fenced-commands). */
export class PodCommands {
  readonly #bus: Bus;
  readonly #pleg: Pleg;
  readonly #effects: PodEffects;
  readonly #stamps: Stamps;
  readonly #objects: ObjectReader;
  readonly #values: PodValues;
  readonly #lanes = new Lanes();
  readonly #sandboxes: ConcurrencyLimit;

  constructor(options: {
    bus: Bus;
    pleg: Pleg;
    effects: PodEffects;
    stamps: Stamps;
    objects: ObjectReader;
    values: PodValues;
    sandboxesAtOnce: number;
  }) {
    this.#bus = options.bus;
    this.#pleg = options.pleg;
    this.#effects = options.effects;
    this.#stamps = options.stamps;
    this.#objects = options.objects;
    this.#values = options.values;
    this.#sandboxes = new ConcurrencyLimit(options.sandboxesAtOnce);
  }

  /** Numbers of sandboxes being created, and waiting for a turn. */
  get sandboxes(): { making: number; waiting: number } {
    const { running, waiting } = this.#sandboxes.load;
    return { making: running, waiting };
  }

  serve(): void {
    this.#bus.serve(fencePod, async ({ key, source, request, cause }) => {
      await this.#bus.fence(key, source, request.hold, request.term);
      return this.#read(key, cause);
    });
    this.#bus.serve(readPod, ({ key, cause }) => this.#read(key, cause));
    for (const method of fencedMethods) this.#serveMethod(method);
  }

  async #read(pod: string, cause: Cause): Promise<{ pod?: RuntimePod | undefined; at: Stamp }> {
    try {
      return await this.#pleg.read(pod, [cause]);
    } catch (error) {
      throw toReplyError(error);
    }
  }

  #serveMethod<M extends FencedMethod>(method: M): void {
    const handler = async (command: CommandContext<CriRequest<M>>) => {
      const { key: pod, request } = command;
      this.#checkOwner(method, pod, request.params);
      const run = () => this.#run(method, pod, command);
      if (unqueued.has(method)) return run();
      return this.#lanes.run(pod, async () => {
        if (method !== 'RunPodSandbox') return run();
        return this.#withPod(command, await this.#sandboxes.run(run));
      });
    };
    this.#bus.serve(criCommands[method], handler, {
      fencesFirst: ({ key, request: { fence } }) =>
        fence?.bridge === this.#bus.epoch && this.#pleg.hasNothingOf(key) ? fence.term : undefined,
    });
  }

  async #run<M extends FencedMethod>(
    method: M,
    pod: string,
    command: CommandContext<CriRequest<M>>,
  ): Promise<CriResult<M>> {
    if (!command.begin()) throw new KubusError('dropped', `${method}: another owner has taken over the pod`);
    this.#pleg.commandStarts(pod);
    const causes = [command.cause];
    try {
      const { params, process } = command.request;
      const annotated = method === 'RunPodSandbox' ? withCause(params, command.cause) : params;
      const complete = process === undefined ? annotated : await this.#complete(pod, annotated, process);
      const response = await this.#effects.perform(method, pod, complete);
      const at = this.#stamps.next();
      // After a create the worker continues with the next call at once, and no other service needs to know yet.
      const read = method !== 'CreateContainer';
      if (method !== 'RunPodSandbox') this.#pleg.commandEnds(pod, { read, causes });
      return { response, at };
    } catch (error) {
      const ended = this.#ended(pod, error);
      this.#pleg.commandEnds(pod, { read: true, causes });
      throw ended;
    }
  }

  /** The answer of a RunPodSandbox with the pod, which containers need: the runtime lists addresses only for a sandbox that exists. */
  async #withPod<M extends FencedMethod>(
    { key, cause }: CommandContext<CriRequest<M>>,
    done: CriResult<M>,
  ): Promise<CriResult<M>> {
    try {
      const { pod } = await this.#pleg.commandEndsWithRead(key, [cause]);
      return { ...done, pod };
    } catch {
      // The sandbox exists all the same; the worker reads the pod itself.
      return done;
    }
  }

  async #complete<Params extends object>(pod: string, given: Params, process: ProcessToComplete): Promise<Params> {
    const { params, values } = await completeCreate(given, process, this.#objects);
    this.#values.add(pod, values);
    return params;
  }

  /** A failed call may have changed the pod too: its sender needs to know when it ended. */
  #ended(pod: string, error: unknown): KubusError {
    const { epoch, counter } = this.#stamps.next();
    const { code, message, context } = toReplyError(error);
    const end = { endEpoch: epoch, endCounter: counter };
    return new KubusError(code, this.#values.redact(pod, message), { cause: error, context: { ...context, ...end } });
  }

  /** A command that names one pod and touches another is a mistake of its sender. */
  #checkOwner(method: FencedMethod, pod: string, params: object): void {
    const { containerId, podSandboxId, config } = params as {
      containerId?: string;
      podSandboxId?: string;
      config?: { metadata?: { uid?: string } };
    };
    const id = containerId ?? podSandboxId;
    const owner = id === undefined ? config?.metadata?.uid : this.#pleg.podOf(id);
    if (owner === undefined || owner === pod) return;
    throw new KubusError('wrong-pod', `${method} for pod ${pod} touches pod ${owner}`, { context: { pod, owner } });
  }
}

/** Annotates a sandbox with the command that created it, as the cause of its network setup. */
function withCause<Params extends CriRequest<FencedMethod>['params']>(params: Params, cause: Cause): Params {
  if (!('config' in params) || params.config === undefined) return params;
  const { config } = params;
  return {
    ...params,
    config: { ...config, annotations: { ...config.annotations, [SANDBOX_CAUSE]: formatCause(cause) } },
  };
}
