import { KubeError, type KubeRequester, kubePath } from '@kubus/kube';
import type { Named, ServiceAccountToken, tokenQuestionSchema } from '@kubus/object-socket';
import { type Clock, KubusError, type Logger } from '@kubus/ports';
import { type TokenHolder, isExpired, refreshAt } from '@kubus/volume';
import * as z from 'zod';

/** Thrown when the pod that a token is requested for is not on this node, or is not known yet. */
export class NoSuchPod extends KubusError {
  constructor(message: string) {
    super('NoSuchPod', message);
  }
}

const answerSchema = z.object({
  spec: z.object({ expirationSeconds: z.number().positive() }),
  status: z.object({ token: z.string(), expirationTimestamp: z.iso.datetime() }),
});

/** How long a caller waits before it requests again a token that could not be renewed, in milliseconds. */
const ASK_AGAIN_MS = 30_000;
/** Shortest time before a renewal, in milliseconds, whatever the token's times are: the API server's clock may differ. */
const LEAST_MS = 10_000;

/** How long a request waits for its pod to become known, in milliseconds: the caller may have received its fact earlier. */
const POD_WAIT_MS = 5_000;

type Question = z.infer<typeof tokenQuestionSchema>;

interface Kept {
  readonly answer: ServiceAccountToken;
  readonly expiresAt: number;
  readonly refreshAt: number;
}

/**
 * Tokens of service accounts for the pods of this node (behaviour:objects-and-tokens, token manager). A token is reused
 * until a fifth of its lifetime is left, and until it expires while no other one can be obtained.
 */
export class Tokens {
  readonly #client: KubeRequester;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #random: () => number;
  /** By the UID of the pod. */
  readonly #holders = new Map<string, TokenHolder>();
  /** Requests for pods that are not known yet, by the UID of the pod. */
  readonly #awaited = new Map<string, PromiseWithResolvers<undefined>>();
  /** By the UID of the pod, then by request. */
  readonly #kept = new Map<string, Map<string, Kept>>();
  /** Running requests: equal ones share the answer. */
  readonly #asking = new Map<string, Promise<ServiceAccountToken>>();

  constructor(options: { client: KubeRequester; clock: Clock; logger: Logger; random: () => number }) {
    this.#client = options.client;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#random = options.random;
  }

  /** Number of kept tokens. */
  get count(): number {
    return [...this.#kept.values()].reduce((sum, tokens) => sum + tokens.size, 0);
  }

  /** Whether a pod of this node has the service account. */
  isHeld({ namespace, name }: Named): boolean {
    return [...this.#holders.values()].some((one) => one.namespace === namespace && one.serviceAccount === name);
  }

  /** Allows tokens for the pod with this UID; undefined: it was removed, and its tokens are forgotten. */
  set(uid: string, holder: TokenHolder | undefined): void {
    if (holder !== undefined) {
      this.#holders.set(uid, holder);
      this.#awaited.get(uid)?.resolve(undefined);
      return;
    }
    this.#holders.delete(uid);
    this.#kept.delete(uid);
  }

  /**
   * A token of the service account.
   *
   * @throws NoSuchPod
   * @throws KubeError when the API server issues none and there is no valid one
   */
  async get(account: Named, question: Question): Promise<ServiceAccountToken> {
    const { pod } = question;
    this.#forgetExpired(pod.uid);
    const holder = await this.#holder(pod.uid);
    const { namespace, name } = account;
    if (holder?.namespace !== namespace || holder.name !== pod.name || holder.serviceAccount !== name) {
      throw new NoSuchPod(`no pod ${namespace}/${pod.name} of this node has the service account ${name}`);
    }
    const key = JSON.stringify([account, question]);
    const kept = this.#kept.get(pod.uid)?.get(key);
    if (kept !== undefined && this.#clock.now() < kept.refreshAt) return kept.answer;
    try {
      return await this.#once(key, account, question);
    } catch (error) {
      if (kept === undefined || isExpired(kept, this.#clock.now()) || !(error instanceof KubeError)) throw error;
      this.#logger.warn(
        { namespace, account: name, err: error.message },
        'cannot renew a token; the old one stays in use',
      );
      const again = Math.min(this.#clock.now() + ASK_AGAIN_MS, kept.expiresAt);
      return { ...kept.answer, refreshTimestamp: new Date(again).toISOString() };
    }
  }

  async #holder(uid: string): Promise<TokenHolder | undefined> {
    if (this.#holders.has(uid)) return this.#holders.get(uid);
    const known = this.#awaited.get(uid) ?? Promise.withResolvers<undefined>();
    this.#awaited.set(uid, known);
    const cancel = this.#clock.after(POD_WAIT_MS, () => known.resolve(undefined));
    await known.promise;
    cancel();
    this.#awaited.delete(uid);
    return this.#holders.get(uid);
  }

  async #once(key: string, account: Named, question: Question): Promise<ServiceAccountToken> {
    const asking = this.#asking.get(key) ?? this.#ask(key, account, question);
    this.#asking.set(key, asking);
    try {
      return await asking;
    } finally {
      this.#asking.delete(key);
    }
  }

  async #ask(key: string, { namespace, name }: Named, question: Question): Promise<ServiceAccountToken> {
    const { audiences, expirationSeconds, pod, serviceAccountUid } = question;
    const said = await this.#client.request({
      method: 'POST',
      path: kubePath({ version: 'v1', namespace, resource: 'serviceaccounts', name, subresource: 'token' }),
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        metadata: serviceAccountUid === undefined ? {} : { uid: serviceAccountUid },
        spec: { audiences, expirationSeconds, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', ...pod } },
      },
    });
    const parsed = answerSchema.safeParse(said);
    // The parser's own error would show parts of it.
    if (!parsed.success) throw new KubusError('bad-answer', 'the API server’s answer is not a TokenRequest');
    const { spec, status } = parsed.data;
    const expiresAt = Date.parse(status.expirationTimestamp);
    const life = { expiresAt, lifeMs: spec.expirationSeconds * 1000 };
    const renewAt = Math.max(refreshAt(life, this.#random()), this.#clock.now() + LEAST_MS);
    const answer = { ...status, refreshTimestamp: new Date(renewAt).toISOString() };
    // The pod may have been removed meanwhile.
    if (this.#holders.has(pod.uid)) {
      const tokens = this.#kept.get(pod.uid) ?? new Map<string, Kept>();
      this.#kept.set(pod.uid, tokens);
      tokens.set(key, { answer, expiresAt, refreshAt: renewAt });
    }
    return answer;
  }

  #forgetExpired(uid: string): void {
    const tokens = this.#kept.get(uid);
    for (const [key, kept] of tokens ?? []) if (isExpired(kept, this.#clock.now())) tokens?.delete(key);
  }
}
