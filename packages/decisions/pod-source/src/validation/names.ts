/**
 * Checks of names and simple values. Each one returns its errors, with the texts of k8s.io/apimachinery/pkg/util/validation;
 * an empty list means valid.
 */
type Check = (value: string) => string[];

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = String.raw`${label}(\.${label})*`;
const qualified = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValue = `(${qualified})?`;
const configKey = '[-._a-zA-Z0-9]+';
const headerName = '[-A-Za-z0-9]+';

const alphanumeric = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

export const dnsLabel: Check = (value) =>
  matching(value, label, 63, {
    rule: `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character`,
    examples: ['my-name', '123-abc'],
  });

export const dnsSubdomain: Check = (value) =>
  matching(value, subdomain, 253, {
    rule: `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character`,
    examples: ['example.com'],
  });

/** Search domains may have labels with underscores. */
export const dnsSearchDomain: Check = (value) => {
  const part = '[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?';
  return matching(value, String.raw`${part}(\.${part})*`, 253, {
    rule: `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' '_' or '.', and must start and end with an alphanumeric character`,
    examples: ['example.com'],
  });
};

/** Keys of labels and annotations, and other names with an optional DNS prefix and `/`. */
export const qualifiedName: Check = (value) => {
  const [first = '', second, ...more] = value.split('/');
  if (more.length > 0) {
    const rule = `a qualified name must consist of ${alphanumeric}`;
    return [
      `${withPattern(rule, qualified, ['MyName', 'my.name', '123-abc'])} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const found: string[] = [];
  if (second !== undefined) {
    if (first === '') found.push('prefix part must be non-empty');
    else found.push(...dnsSubdomain(first).map((message) => `prefix part ${message}`));
  }
  const name = second ?? first;
  if (name === '') found.push('name part must be non-empty');
  const examples = ['MyName', 'my.name', '123-abc'];
  const wrong = matching(name, qualified, 63, { rule: `must consist of ${alphanumeric}`, examples });
  return [...found, ...wrong.map((message) => `name part ${message}`)];
};

export const labelValueText: Check = (value) =>
  matching(value, labelValue, 63, {
    rule: `a valid label must be an empty string or consist of ${alphanumeric}`,
    examples: ['MyValue', 'my_value', '12345'],
  });

/** Keys of ConfigMaps and Secrets. */
export const configMapKey: Check = (value) => {
  const found = matching(value, configKey, 253, {
    rule: "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    examples: ['key.name', 'KEY_NAME', 'key-name'],
  });
  if (value === '.') found.push("must not be '.'");
  else if (value === '..') found.push("must not be '..'");
  else if (value.startsWith('..')) found.push("must not start with '..'");
  return found;
};

export const httpHeaderName: Check = (value) =>
  matching(value, headerName, Infinity, {
    rule: "a valid HTTP header must consist of alphanumeric characters or '-'",
    examples: ['X-Header-Name'],
  });

/** Any printable characters except `=` (KEP-4369). */
export const envVarName: Check = (value) => {
  if (value === '') return ['environment variable name must be non-empty'];
  if (/^[\x20-\x3c\x3e-\x7e]+$/.test(value)) return [];
  return ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
};

export const portName: Check = (value) => {
  const found: string[] = [];
  if (value.length > 15) found.push('must be no more than 15 characters');
  if (!/^[-a-z0-9]+$/.test(value)) found.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(value)) found.push('must contain at least one letter (a-z)');
  if (value.includes('--')) found.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) found.push('must not begin or end with a hyphen');
  return found;
};

export function inRange(value: number, least: number, most: number): string[] {
  return value >= least && value <= most ? [] : [`must be between ${least} and ${most}, inclusive`];
}

export function portNumber(value: number): string[] {
  return inRange(value, 1, 65535);
}

/** User and group ids. */
export function unixId(value: number): string[] {
  return inRange(value, 0, 2147483647);
}

export const ipAddress: Check = (value) =>
  isIpv4(value) || isIpv6(value) ? [] : ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'];

function isIpv4(value: string): boolean {
  const parts = value.split('.');
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
}

function isIpv6(value: string): boolean {
  const [head = '', tail, ...more] = value.split('::');
  if (more.length > 0) return false;
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const all = [...groups(head), ...groups(tail ?? '')];
  const last = all.at(-1) ?? '';
  const dotted = last.includes('.');
  if (dotted && !isIpv4(last)) return false;
  const words = dotted ? all.slice(0, -1) : all;
  const length = words.length + (dotted ? 2 : 0);
  if (!words.every((word) => /^[0-9a-fA-F]{1,4}$/.test(word))) return false;
  return tail === undefined ? length === 8 : length < 8;
}

/** A path below another one: relative and without `..`. */
export const descendingPath: Check = (value) => {
  const found = value.startsWith('/') ? ['must be a relative path'] : [];
  return [...found, ...noBacksteps(value)];
};

/** As {@link descendingPath}, without the names that the atomic writer of volumes uses. */
export const volumeFilePath: Check = (value) => {
  const found = descendingPath(value);
  if (value.startsWith('..') && !value.startsWith('../')) found.push("must not start with '..'");
  return found;
};

export const noBacksteps: Check = (value) => (value.split('/').includes('..') ? ["must not contain '..'"] : []);

function matching(
  value: string,
  pattern: string,
  longest: number,
  { rule, examples }: { rule: string; examples: readonly string[] },
): string[] {
  const found: string[] = [];
  if (value.length > longest) found.push(`must be no more than ${longest} bytes`);
  if (!new RegExp(`^(?:${pattern})$`).test(value)) found.push(withPattern(rule, pattern, examples));
  return found;
}

function withPattern(rule: string, pattern: string, examples: readonly string[]): string {
  const quoted = examples.map((example) => `'${example}', `).join(' or ');
  return `${rule} (e.g. ${quoted}regex used for validation is '${pattern}')`;
}
