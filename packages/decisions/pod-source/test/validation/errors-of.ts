import { readManifest } from '../../src/index.ts';

/** The errors of a pod that is valid except for the given parts, as `field: message`. */
export function errorsOf(overrides: { spec?: object; metadata?: object; container?: object }): string[] {
  const container = { name: 'c', image: 'i', ...overrides.container };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', ...overrides.metadata },
    spec: { containers: [container], ...overrides.spec },
  };
  const origin = { path: '/m/p.yaml', node: 'n1', source: 'file', seenAt: '2026-01-01T00:00:00Z' } as const;
  const { errors } = readManifest({ ...origin, text: JSON.stringify(pod) });
  return errors.map(({ field = '', message }) => `${field}: ${message}`);
}

/** The last parts of messages that quote a pattern. */
export const dnsLabelRule =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
export const dnsSubdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
export const labelValueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
export const nameRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
