import { type KubeRequester, kubePath } from '@kubus/kube';
import {
  type User,
  anonymousUser,
  bearerToken,
  certificateUser,
  reviewedUser,
  tokenReview,
} from '@kubus/node-requests';
import { type Clock, type Logger, toError } from '@kubus/ports';
import type { NodeConfig } from '@kubus/service-kit';
import { createHmac, randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { REVIEW_MS, SharedReviews } from './shared-reviews.ts';

const path = kubePath({ group: 'authentication.k8s.io', version: 'v1', resource: 'tokenreviews' });

export type AuthenticationSettings = NonNullable<NodeConfig['server']>['authentication'];

/**
 * Authenticates requests (behaviour:certificates-and-authentication): by a client certificate, then by a bearer token,
 * which the API server reviews. Invalid credentials never count as anonymous.
 */
export class Authentication {
  readonly #settings: AuthenticationSettings;
  readonly #client: KubeRequester | undefined;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #tokens: SharedReviews<User | undefined>;
  /** Tokens are cached under their HMAC with this key. */
  readonly #secret = randomBytes(32);

  /** @param options.client reviews tokens; without it, tokens are ignored */
  constructor(options: {
    settings: AuthenticationSettings;
    client: KubeRequester | undefined;
    clock: Clock;
    logger: Logger;
  }) {
    this.#settings = options.settings;
    this.#client = options.client;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#tokens = new SharedReviews(options.clock, () => options.settings.webhookCacheMs);
  }

  /** The user of a request on this connection with this Authorization header; undefined when it is not authenticated. */
  async authenticate(socket: Socket, header: string | undefined): Promise<User | undefined> {
    const byCertificate = this.#byCertificate(socket);
    if (typeof byCertificate === 'object') return byCertificate;
    const byToken = await this.#byToken(header);
    if (typeof byToken === 'object') return byToken;
    const wrong = byCertificate === 'wrong' || byToken === 'wrong';
    return !wrong && this.#settings.anonymous ? anonymousUser : undefined;
  }

  #byCertificate(socket: Socket): User | 'wrong' | undefined {
    if (this.#settings.clientCaFile === undefined || !(socket instanceof TLSSocket)) return undefined;
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) return undefined;
    // The certificate may have expired since the connection was made.
    if (!socket.authorized || certificate.validToDate.getTime() < this.#clock.now()) {
      const err = toError(socket.authorizationError);
      this.#logger.warn({ subject: certificate.subject, err }, 'client certificate refused');
      return 'wrong';
    }
    const { CN, O } = socket.getPeerCertificate().subject;
    const sha256 = certificate.fingerprint256.replaceAll(':', '');
    return certificateUser({ names: all(CN), organizations: all(O), sha256 });
  }

  async #byToken(header: string | undefined): Promise<User | 'wrong' | undefined> {
    const token = bearerToken(header);
    const client = this.#client;
    if (token === undefined || client === undefined) return undefined;
    const key = createHmac('sha256', this.#secret).update(token).digest('base64');
    try {
      const ask = async () =>
        reviewedUser(await client.request({ method: 'POST', path, body: tokenReview(token), timeoutMs: REVIEW_MS }));
      return (await this.#tokens.get(key, ask)) ?? 'wrong';
    } catch (error) {
      this.#logger.error({ err: toError(error) }, 'token review failed');
      return 'wrong';
    }
  }
}

/** Node.js returns a single value as a string, and several as a list. */
function all(values: string | string[] | undefined): string[] {
  return values === undefined ? [] : [values].flat();
}
