/**
 * Subjects read from wide to narrow:
 *
 *     kubus.<node>.<area>.<kind>.<name>.<key>[.<more>]      facts, commands, events
 *     kubus.<node>.reply.<service>.<instance>.<key>         replies to commands
 *
 * `<key>` is the pod's UID wherever there is one, so `kubus.*.*.*.*.<uid>.>` and `kubus.*.*.*.*.<uid>` follow one pod.
 */
export const ROOT = 'kubus';

/** Stands where a message has no key. */
export const NO_KEY = '-';

/** The token that holds a fact set's completion marks. `encodeToken` never gives it: `=` is always followed by hex. */
export const COMPLETE = '=complete';

/**
 * Text as one NATS subject token, which is also a valid JetStream key-value key. Letters, digits, `-` and `_` stay as
 * they are; every other UTF-8 byte becomes `=XX`. The empty text becomes `=`.
 */
export function encodeToken(text: string): string {
  if (/^[A-Za-z0-9_-]+$/.test(text)) return text;
  if (text === '') return '=';
  let token = '';
  for (const byte of new TextEncoder().encode(text)) {
    const char = String.fromCharCode(byte);
    token += /[A-Za-z0-9_-]/.test(char) ? char : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return token;
}

/** The inverse of {@link encodeToken}. */
export function decodeToken(token: string): string {
  if (token === '=') return '';
  if (!token.includes('=')) return token;
  return decodeURIComponent(token.replace(/%/g, '%25').replace(/=([0-9A-F]{2})/g, '%$1'));
}

/** True when `pattern` (with `*` and `>`) covers `subject`. Both are plain NATS subjects. */
export function subjectMatches(pattern: string, subject: string): boolean {
  const want = pattern.split('.');
  const have = subject.split('.');
  for (const [index, token] of want.entries()) {
    if (token === '>') return have.length > index;
    if (index >= have.length || (token !== '*' && token !== have[index])) return false;
  }
  return want.length === have.length;
}
