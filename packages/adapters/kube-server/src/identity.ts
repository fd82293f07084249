import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { JsonObject } from '@kubus/kube-objects';

export interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
}

/** May do everything. */
export const ADMIN: User = { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };

/** The user of a node, with any credential. */
export function nodeUser(node: string): User {
  return { username: `system:node:${node}`, groups: ['system:nodes', 'system:authenticated'] };
}

/** The users known to the server: by tokens that it has issued, and by certificates of its CA. */
export class Identities {
  readonly #tokens = new Map<string, User>();
  readonly #issued: (token: string, audiences: readonly string[]) => User | undefined;

  /** @param issued the user of a token that was issued for a service account. */
  constructor(issued: (token: string, audiences: readonly string[]) => User | undefined = () => undefined) {
    this.#issued = issued;
  }

  /** A new token of that user. */
  token(user: User, token = randomBytes(16).toString('hex')): string {
    this.#tokens.set(token, user);
    return token;
  }

  /** Revokes a token. */
  revoke(token: string): void {
    this.#tokens.delete(token);
  }

  /** @param audiences of a token of a service account; empty: the API server. */
  byToken(token: string, audiences: readonly string[] = []): User | undefined {
    return this.#tokens.get(token) ?? this.#issued(token, audiences);
  }

  /** The sender of a request; undefined: unknown. */
  userOf(request: IncomingMessage): User | undefined {
    const [, token] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
    if (token !== undefined) return this.byToken(token);
    const { socket } = request;
    if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
    const { subject } = socket.getPeerCertificate();
    const groups = [subject.O ?? []].flat();
    return { username: [subject.CN].flat().join(), groups: [...groups, 'system:authenticated'] };
  }
}

export function userInfo({ username, uid, groups }: User): JsonObject {
  return { username, ...(uid !== undefined && { uid }), groups };
}
