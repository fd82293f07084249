/** The authenticated user of a request. */
export interface User {
  readonly name: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const AUTHENTICATED = 'system:authenticated';
const UNAUTHENTICATED = 'system:unauthenticated';

/** The anonymous user, where anonymous access is allowed. */
export const anonymousUser: User = { name: 'system:anonymous', groups: [UNAUTHENTICATED], extra: {} };

/** The user of requests on the node's own unix socket, which only its owner can open. */
export const nodeAdmin: User = { name: 'system:node-admin', groups: [AUTHENTICATED], extra: {} };

/** The user, as a member of the group of all authenticated users. */
export function asAuthenticated(user: User): User {
  const known = user.groups.some((group) => group === AUTHENTICATED || group === UNAUTHENTICATED);
  return known ? user : { ...user, groups: [...user.groups, AUTHENTICATED] };
}

/** The subject of a verified client certificate. */
export interface CertificateSubject {
  /** All common names and organizations, including repeated ones. */
  readonly names: readonly string[];
  readonly organizations: readonly string[];
  /** SHA-256 of the certificate, in hexadecimal digits. */
  readonly sha256: string;
}

/**
 * The user of a client certificate: the common name is the user's name, the organizations are the groups. Undefined for one
 * without a name. Of several common names the last one counts, as in the reference.
 */
export function certificateUser({ names, organizations, sha256 }: CertificateSubject): User | undefined {
  const name = names.at(-1) ?? '';
  if (name === '') return undefined;
  const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${sha256.toLowerCase()}`] };
  return asAuthenticated({ name, groups: organizations, extra });
}

/** The token of an `Authorization: Bearer` header; undefined when there is none. */
export function bearerToken(header: string | undefined): string | undefined {
  const [scheme = '', token = ''] = (header ?? '').trim().split(' ');
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined;
}
