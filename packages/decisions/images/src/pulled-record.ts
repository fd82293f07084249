/**
 * Which pods may use an image that is on the node (KEP-2535): a pod that could not pull it must not get it because
 * another one could. Of a credential only its Secret and a hash are recorded.
 */

/** The source of a pod's credential, or of one with which an image was pulled: a Secret, or a service account. */
export interface PullSecret {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Missing for a service account, whose credentials are different each time. */
  readonly hash?: string | undefined;
}

/** How an image was pulled: with these Secrets, or so that every pod of the node may use it. */
interface PulledWith {
  readonly everybody: boolean;
  readonly secrets: readonly PullSecret[];
}

/** What is recorded about an image that this node has pulled, by the names (without tag and digest) under which it was requested. */
export interface PulledRecord {
  readonly imageRef: string;
  readonly names: Readonly<Record<string, PulledWith>>;
}

/** imagePullCredentialsVerificationPolicy of KubeletConfiguration. */
export const verificationPolicies = [
  'NeverVerify',
  'NeverVerifyPreloadedImages',
  'NeverVerifyAllowlistedImages',
  'AlwaysVerify',
] as const;

export interface Verification {
  readonly policy: (typeof verificationPolicies)[number];
  /** Repositories, or prefixes that end in an asterisk, for NeverVerifyAllowlistedImages (preloadedImagesVerificationAllowlist). */
  readonly allowlist: readonly string[];
}

export interface PresentImage {
  /** Without tag and digest. */
  readonly name: string;
  readonly record: PulledRecord | undefined;
  /** This node has started a pull of it with unknown result: the image may come from that pull. */
  readonly pullBegan: boolean;
  /** The pod's credentials that apply to this image. */
  readonly podSecrets: readonly PullSecret[];
}

/**
 * Why a pod may use an existing image without a pull, or `mustAuthenticate`: it has to pull the image with its own
 * credentials. The values are those of the reference's metrics.
 */
export type PullCheck = 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate';

/** Whether a pod may use an existing image. */
export function pullCheck(image: PresentImage, verification: Verification): PullCheck {
  const { name, record, pullBegan, podSecrets } = image;
  if (!isVerified(name, record !== undefined || pullBegan, verification)) return 'credentialPolicyAllowed';
  const known = record?.names[name];
  const isKnown = known?.everybody === true || podSecrets.some((own) => known?.secrets.some((one) => isSame(own, one)));
  return isKnown ? 'credentialRecordFound' : 'mustAuthenticate';
}

function isVerified(name: string, pulledByUs: boolean, { policy, allowlist }: Verification): boolean {
  switch (policy) {
    case 'NeverVerify':
      return false;
    case 'NeverVerifyPreloadedImages':
      return pulledByUs;
    case 'NeverVerifyAllowlistedImages':
      return !allowlist.some((one) => (one.endsWith('/*') ? name.startsWith(one.slice(0, -1)) : name === one));
    case 'AlwaysVerify':
      return true;
  }
}

/** The same Secret or account, even if its content has changed, or the same content in any Secret. */
function isSame(a: PullSecret, b: PullSecret): boolean {
  return (a.hash !== undefined && a.hash === b.hash) || isSameObject(a, b);
}

function isSameObject(a: PullSecret, b: PullSecret): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;
}

/** The maximum number of Secrets that are added to a record by use; those of a pull are always recorded. */
const LEARNED_SECRETS = 100;

/**
 * The record after a pod was allowed to use the image: Secrets with equal or new content are added.
 * Returns the same record when there is nothing to add.
 */
export function learnSecrets(record: PulledRecord, name: string, podSecrets: readonly PullSecret[]): PulledRecord {
  const known = record.names[name];
  if (known === undefined || known.everybody) return record;
  const allowed = podSecrets.find((own) => known.secrets.some((one) => isSame(own, one)));
  if (allowed === undefined || known.secrets.length >= LEARNED_SECRETS) return record;
  return recordPull(record, { imageRef: record.imageRef, name, secret: allowed });
}

/**
 * The record after a successful pull.
 *
 * @param pulled its secret is undefined when the image was pulled without credentials, or with the node's own
 */
export function recordPull(
  record: PulledRecord | undefined,
  pulled: { readonly imageRef: string; readonly name: string; readonly secret: PullSecret | undefined },
): PulledRecord {
  const { imageRef, name, secret } = pulled;
  const known = record?.names[name];
  if (record !== undefined && known?.everybody === true) return record;
  const secrets = known?.secrets ?? [];
  if (record !== undefined && secret !== undefined) {
    if (secrets.some((one) => isSameObject(one, secret) && one.hash === secret.hash)) return record;
  }
  const now: PulledWith =
    secret === undefined
      ? { everybody: true, secrets: [] }
      : { everybody: false, secrets: [...secrets.filter((one) => !isSameObject(one, secret)), secret] };
  return { imageRef, names: { ...record?.names, [name]: now } };
}

/** The record of an image after a pull with unknown result: this node pulled it, and no pod may use it yet. */
export function recordUnknown(record: PulledRecord | undefined, imageRef: string): PulledRecord {
  return record ?? { imageRef, names: {} };
}
