import { type KubeRequester, kubePath } from '@kubus/kube';
import {
  type RequestAttributes,
  type User,
  accessReview,
  authorizationErrorText,
  forbiddenText,
  isAllowed,
} from '@kubus/node-requests';
import { type Clock, type Logger, toError } from '@kubus/ports';
import type { NodeConfig } from '@kubus/service-kit';
import { REVIEW_MS, SharedReviews } from './shared-reviews.ts';

const path = kubePath({ group: 'authorization.k8s.io', version: 'v1', resource: 'subjectaccessreviews' });

/** The reason why a request is refused. */
export interface Refusal {
  readonly status: number;
  readonly text: string;
}

export type AuthorizationSettings = NonNullable<NodeConfig['server']>['authorization'];

/** Authorizes requests (behaviour:http-api): through the API server, or allows everything. */
export class Authorization {
  readonly #client: KubeRequester | undefined;
  readonly #node: string;
  readonly #logger: Logger;
  readonly #answers: SharedReviews<boolean>;

  /** @param options.client reviews each user and subresource; without it, everything is allowed */
  constructor(options: {
    settings: AuthorizationSettings;
    client: KubeRequester | undefined;
    node: string;
    clock: Clock;
    logger: Logger;
  }) {
    const { allowedCacheMs, deniedCacheMs } = options.settings;
    this.#client = options.client;
    this.#node = options.node;
    this.#logger = options.logger;
    this.#answers = new SharedReviews(options.clock, (allowed) => (allowed ? allowedCacheMs : deniedCacheMs));
  }

  /** Undefined when the user is allowed. */
  async refusal(user: User, attributes: RequestAttributes): Promise<Refusal | undefined> {
    const client = this.#client;
    if (client === undefined) return undefined;
    const { verb } = attributes;
    for (const subresource of attributes.subresources) {
      const body = accessReview(user, this.#node, verb, subresource);
      const ask = async () => isAllowed(await client.request({ method: 'POST', path, body, timeoutMs: REVIEW_MS }));
      try {
        if (await this.#answers.get(JSON.stringify(body), ask)) return undefined;
      } catch (error) {
        const err = toError(error);
        this.#logger.error({ user: user.name, verb, subresource, err }, 'subject access review failed');
        return { status: 500, text: authorizationErrorText(user.name, verb, subresource) };
      }
    }
    return { status: 403, text: forbiddenText(user.name, attributes) };
  }
}
