/**
 * Which pods may use an image that is on the node (KEP-2535): one who could not pull it must not get it because somebody
 * else could. What is kept of a credential is the Secret that it was in and a hash.
 */

/** Where a credential of a pod is from, or one with which an image was pulled: a Secret, or a service account. */
export interface PullSecret {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Missing for a service account, which has another credential each time. */
  readonly hash?: string | undefined;
}

/** With what an image was pulled: with these Secrets, or so that every pod of the node may use it. */
export interface PulledWith {
  readonly everybody: boolean;
  readonly secrets: readonly PullSecret[];
}

/** What is remembered of an image that this node has pulled, by the names (without tag and digest) that it was asked for. */
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
  /** Repositories, or prefixes that end with an asterisk, for NeverVerifyAllowlistedImages (preloadedImagesVerificationAllowlist). */
  readonly allowlist: readonly string[];
}

export interface PresentImage {
  /** Without tag and digest. */
  readonly name: string;
  readonly record: PulledRecord | undefined;
  /** A pull of it by this node had begun and nobody knows how it ended: it may be from that pull. */
  readonly pullBegan: boolean;
  /** Those credentials of the pod that are for this image. */
  readonly podSecrets: readonly PullSecret[];
}

/**
 * Why a pod may use an image that is there without pulling it first, or `mustAuthenticate`: with its own credentials it has
 * to pull it. In the words of the reference's metrics.
 */
export type PullCheck = 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate';

/** Whether a pod may use an image that is there. */
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

/** The same object, whose content may have changed, or the same content, wherever it is. */
function isSame(a: PullSecret, b: PullSecret): boolean {
  return (a.hash !== undefined && a.hash === b.hash) || isSameObject(a, b);
}

function isSameObject(a: PullSecret, b: PullSecret): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;
}

/** How many Secrets a record grows to by mere use; a pull is always recorded. */
const LEARNED_SECRETS = 100;

/**
 * The record after a pod was allowed to use the image: Secrets of equal content, or with new content, are known from now
 * on. The same record when there is nothing to add.
 */
export function learnSecrets(record: PulledRecord, name: string, podSecrets: readonly PullSecret[]): PulledRecord {
  const known = record.names[name];
  if (known === undefined || known.everybody) return record;
  const allowed = podSecrets.find((own) => known.secrets.some((one) => isSame(own, one)));
  if (allowed === undefined || known.secrets.length >= LEARNED_SECRETS) return record;
  return recordPull(record, { imageRef: record.imageRef, name, secret: allowed });
}

/**
 * The record after a pull that succeeded.
 *
 * @param pulled its secret is undefined when it was pulled without credentials, or with the node's own.
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

/** An image that is there and of whose pull the end is not known: it is known to be ours, and nobody's yet. */
export function recordUnknown(record: PulledRecord | undefined, imageRef: string): PulledRecord {
  return record ?? { imageRef, names: {} };
}
