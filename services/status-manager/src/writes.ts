import type { Cause } from '@kubus/bus';
import { type Pod, type PodRef, podSchema } from '@kubus/contracts';
import { KubeError, type KubeRequester, kubePath } from '@kubus/kube';
import type { JsonObject, NewPod, Urgency } from '@kubus/pod-status';

interface WriteBase {
  readonly urgency: Urgency;
  /** UID of the pod on the node. */
  readonly uid: string;
  /** The pod in the API; for a mirror to be made, the static pod. */
  readonly ref: PodRef;
  readonly causes: readonly Cause[];
}

/** One write to the API server. */
export type Write = WriteBase &
  (
    | { readonly kind: 'status'; readonly patch: JsonObject }
    | { readonly kind: 'delete'; readonly patch: JsonObject | undefined }
    | { readonly kind: 'removeMirror' }
    | { readonly kind: 'createMirror'; readonly pod: NewPod }
  );

/** The pod after the write; undefined: it is deleted. */
export type Answer = Pod | undefined;

/** Milliseconds until a write counts as not answered. */
const TIMEOUT_MS = 10_000;

/** Carries out writes. Each one is idempotent. */
export class PodWrites {
  readonly #client: KubeRequester;
  readonly #signal: AbortSignal;

  constructor(client: KubeRequester, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /** @throws KubeError */
  async perform(write: Write): Promise<Answer> {
    switch (write.kind) {
      case 'status':
        return this.#patchStatus(write.ref, write.patch);
      case 'delete':
        if (write.patch !== undefined) await this.#lastStatus(write.ref, write.patch);
        return this.#remove(write.ref);
      case 'removeMirror':
        return this.#remove(write.ref);
      case 'createMirror':
        return this.#create(write.pod);
    }
  }

  /** A status that the API server refuses is no reason to keep the pod. */
  async #lastStatus(ref: PodRef, patch: JsonObject): Promise<void> {
    try {
      await this.#patchStatus(ref, patch);
    } catch (error) {
      if (!(error instanceof KubeError && error.status === 422)) throw error;
    }
  }

  async #patchStatus({ namespace, name }: PodRef, patch: JsonObject): Promise<Pod> {
    const path = kubePath({ version: 'v1', namespace, resource: 'pods', name, subresource: 'status' });
    return this.#pod(await this.#request({ method: 'PATCH', path, patch: 'strategic', body: patch }));
  }

  async #create(pod: NewPod): Promise<Pod> {
    const path = kubePath({ version: 'v1', namespace: pod.metadata.namespace, resource: 'pods' });
    return this.#pod(await this.#request({ method: 'POST', path, body: pod }));
  }

  /** At once, and only this pod: another one of its name stays. */
  async #remove({ namespace, name, uid }: PodRef): Promise<Answer> {
    const path = kubePath({ version: 'v1', namespace, resource: 'pods', name });
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid } };
    try {
      const answer = podSchema.safeParse(await this.#request({ method: 'DELETE', path, body })).data;
      // A pod with a finalizer stays until that is removed.
      return (answer?.metadata.finalizers ?? []).length > 0 ? answer : undefined;
    } catch (error) {
      if (error instanceof KubeError && (error.status === 404 || error.status === 409)) return undefined;
      throw error;
    }
  }

  /** The write's urgency decides when it may start, so the client does not delay it again. */
  #request(request: Parameters<KubeRequester['request']>[0]): Promise<unknown> {
    return this.#client.request({ ...request, unlimited: true, timeoutMs: TIMEOUT_MS, signal: this.#signal });
  }

  #pod(answer: unknown): Pod {
    const parsed = podSchema.safeParse(answer);
    if (parsed.success) return parsed.data;
    throw new KubeError('Unreachable', `the answer is not a pod: ${parsed.error.message}`, { cause: parsed.error });
  }
}
