/** JSON text with the characters escaped that Go's encoding/json escapes: those of HTML, and two that end lines in JavaScript. */
export function escapedAsGo(json: string): string {
  return json.replaceAll(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A value as Go's encoding/json writes it: the keys in their order here. */
export function goJson(value: unknown): string {
  return escapedAsGo(JSON.stringify(value));
}
