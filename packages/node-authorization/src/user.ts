/** Who asks, as authentication found out. */
export interface User {
  readonly name: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const AUTHENTICATED = 'system:authenticated';
const UNAUTHENTICATED = 'system:unauthenticated';

/** Who shows no credentials, where that is allowed. */
export const anonymousUser: User = { name: 'system:anonymous', groups: [UNAUTHENTICATED], extra: {} };

/** Who asks on the node's own unix socket, which nobody else can open. */
export const nodeAdmin: User = { name: 'system:node-admin', groups: [AUTHENTICATED], extra: {} };

/** The user in the group of all who have shown who they are. */
export function asAuthenticated(user: User): User {
  const known = user.groups.some((group) => group === AUTHENTICATED || group === UNAUTHENTICATED);
  return known ? user : { ...user, groups: [...user.groups, AUTHENTICATED] };
}

/** What a verified client certificate says about its owner. */
export interface CertificateSubject {
  /** Common names and organizations, as often as they are there. */
  readonly names: readonly string[];
  readonly organizations: readonly string[];
  /** SHA-256 of the certificate, in hexadecimal digits. */
  readonly sha256: string;
}

/**
 * The user of a client certificate: the common name is the user's, the organizations are the groups. Undefined for one
 * without a name. As with the reference, the last of several common names counts.
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
