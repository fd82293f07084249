/**
 * Subjects go from general to specific:
 *
 *     kubus.<node>.<area>.<kind>.<name>.<key>                       facts, events
 *     kubus.<node>.<area>.cmd.<name>.<key>.<service>.<instance>     commands, with their sender
 *     kubus.<node>.reply.<service>.<instance>.<key>.<server>        replies to commands, with their reader and their sender
 *
 * `<key>` is the pod's UID where a pod is concerned; see {@link podPatterns}. The broker lets an identity send commands and replies only
 * under its own name.
 */
export const ROOT = 'kubus';

/** The token that replaces the key of a message without one. */
export const NO_KEY = '-';

/** The token of a fact set's completion marks. `encodeToken` never returns it: there `=` is always followed by hex digits. */
export const COMPLETE = '=complete';

/**
 * Text as one NATS subject token, which is also a valid JetStream key-value key. Letters, digits, `-` and `_` stay as
 * they are; every other UTF-8 byte becomes `=XX`. The empty string becomes `=`.
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

/** The key of a message: the sixth token of its subject. */
export function keyOf(subject: string): string {
  return decodeToken(subject.split('.', 6)[5] ?? '');
}

/** Cover every message about one pod; relative to `kubus.<node>.`. */
export function podPatterns(uid: string): string[] {
  const pattern = `*.*.*.${encodeToken(uid)}`;
  return [pattern, `${pattern}.>`];
}

/** True when `pattern` (with `*` and `>`) covers `subject`. Both are plain NATS subjects. */
export function subjectMatches(pattern: string, subject: string): boolean {
  let from = 0;
  let at = 0;
  // Compares token by token, without splitting both into lists: this runs for every message and every pattern.
  for (;;) {
    const patternEnd = tokenEnd(pattern, from);
    const token = pattern.slice(from, patternEnd);
    if (token === '>') return true;
    const subjectEnd = tokenEnd(subject, at);
    if (token !== '*' && token !== subject.slice(at, subjectEnd)) return false;
    const patternEnds = patternEnd === pattern.length;
    const subjectEnds = subjectEnd === subject.length;
    if (patternEnds || subjectEnds) return patternEnds && subjectEnds;
    from = patternEnd + 1;
    at = subjectEnd + 1;
  }
}

function tokenEnd(subject: string, from: number): number {
  const dot = subject.indexOf('.', from);
  return dot === -1 ? subject.length : dot;
}
