/** What stands where a secret was. */
export const REDACTED = '<redacted>';

/** The names of fields that hold secrets; those of references to secrets end in another word. */
const SECRET_FIELD =
  /(^|[-_.])(password|passwd|passphrase|secret|token|credentials?|authorization|seed|apikey|privatekey)$/;

/** Secrets within text, and what replaces each. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, REDACTED],
  // User and password of an URL.
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@"']+@/gi, `$1${REDACTED}@`],
  [/\b(bearer|basic)\s+[\w.~+/-]{8,}=*/gi, `$1 ${REDACTED}`],
  // JSON web tokens.
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, REDACTED],
  // Seeds of NATS keys.
  [/\bS[UAONCX][A-Z2-7]{56}\b/g, REDACTED],
  [
    /\b([\w-]*(?:password|passwd|secret|token|api[-_]?key))(\s*[=:]\s*)(?:"[^"]*"|'[^']*'|[^\s,;"'&]+)/gi,
    `$1$2${REDACTED}`,
  ],
];

/** Text such as a log, with what looks like a secret replaced. */
export function textWithoutSecrets(text: string): string {
  return SECRETS.reduce((rest, [pattern, replacement]) => rest.replaceAll(pattern, replacement), text);
}

/**
 * A document with its secrets replaced: values of fields that are named as secrets, of environment variables, whose names say nothing, and
 * what looks like a secret within any text. Values of Secrets are in no message and no log anyway; what users wrote into pods may be.
 */
export function withoutSecrets(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return isSecretField(name) ? REDACTED : textWithoutSecrets(value);
  if (Array.isArray(value)) {
    const list = value as readonly unknown[];
    return list.map((one) => (name === 'env' || name === 'envs' ? withoutValue(one) : withoutSecrets(one, name)));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([field, one]) => [field, withoutSecrets(one, field)]));
}

function isSecretField(name: string): boolean {
  return (
    SECRET_FIELD.test(name.replaceAll(/([a-z])([A-Z])/g, '$1_$2').toLowerCase()) ||
    SECRET_FIELD.test(name.toLowerCase())
  );
}

/** An environment variable, of a pod or of the runtime's request. */
function withoutValue(variable: unknown): unknown {
  if (typeof variable !== 'object' || variable === null || !('value' in variable)) return withoutSecrets(variable);
  return { ...(withoutSecrets(variable) as object), value: REDACTED };
}
