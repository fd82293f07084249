import type { LabelSelector, TrustBundle, VolumeProjection } from '@kubus/contracts';

type TrustBundleSource = NonNullable<VolumeProjection['clusterTrustBundle']>;

/** Certificates in PEM, why there are none, or what has to be known first. */
export type TrustAnchors = { readonly text: string } | { readonly refusal: string } | { readonly awaits: string };

/**
 * The certificates of one ClusterTrustBundle, or of all of a signer's that a selector matches; each once, in an arbitrary
 * order (KEP-3257).
 *
 * @param bundles all of the cluster's; undefined as long as they have not been read
 */
export function trustAnchors(source: TrustBundleSource, bundles: readonly TrustBundle[] | undefined): TrustAnchors {
  const { name, signerName, labelSelector, optional = false } = source;
  if (name === undefined && signerName === undefined) {
    return { refusal: 'ClusterTrustBundle projection requires either name or signerName to be set' };
  }
  if (bundles === undefined) return { awaits: 'the ClusterTrustBundles from the API server' };
  if (name !== undefined) {
    const bundle = bundles.find((one) => one.name === name);
    if (bundle !== undefined) return { text: certificates([bundle]) };
    const refusal = `while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "${name}" not found`;
    return optional ? { text: '' } : { refusal };
  }
  const unknown = (labelSelector?.matchExpressions ?? []).find(({ operator }) => !operators.has(operator));
  if (unknown !== undefined) {
    const problem = `"${unknown.operator}" is not a valid label selector operator`;
    return { refusal: `while parsing label selector: ${problem}` };
  }
  const selected = bundles.filter((one) => one.signerName === signerName && selects(labelSelector, one.labels));
  if (selected.length > 0 || optional) return { text: certificates(selected) };
  return { refusal: 'combination of signerName and labelSelector matched zero ClusterTrustBundles' };
}

type Requirement = (value: string | undefined, values: readonly string[]) => boolean;

const operators: ReadonlyMap<string, Requirement> = new Map<string, Requirement>([
  ['In', (value, values) => value !== undefined && values.includes(value)],
  ['NotIn', (value, values) => value === undefined || !values.includes(value)],
  ['Exists', (value) => value !== undefined],
  ['DoesNotExist', (value) => value === undefined],
]);

/** Whether a selector matches these labels. An empty one matches all, an undefined one matches none. */
function selects(selector: LabelSelector | undefined, labels: Readonly<Record<string, string>>): boolean {
  if (selector === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => operators.get(operator)?.(labels[key], values) === true)
  );
}

const BLOCK = /-----BEGIN [^-\n]+-----([A-Za-z0-9+/=\s]+)-----END [^-\n]+-----/g;
const LINE = /.{1,64}/g;

function certificates(bundles: readonly TrustBundle[]): string {
  const bodies = bundles.flatMap(({ trustBundle }) => [...trustBundle.matchAll(BLOCK)].map(([, body = '']) => body));
  const each = [...new Set(bodies.map((body) => body.replace(/\s/g, '')))].sort();
  return each
    .map((body) => `-----BEGIN CERTIFICATE-----\n${(body.match(LINE) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`)
    .join('');
}
