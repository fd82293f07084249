const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** A text as Go's `strconv.Quote` shows it, or its `QuoteRune` with `'`: quotes and characters that are not printable are escaped. */
export function goQuoted(text: string, quote: '"' | "'" = '"'): string {
  const escaped = text.replace(/["'\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (char) => {
    if (char === '"' || char === "'") return char === quote ? `\\${char}` : char;
    const code = char.codePointAt(0) ?? 0;
    const hex = code.toString(16);
    if (code < 0x80) return ESCAPES[char] ?? `\\x${hex.padStart(2, '0')}`;
    return code > 0xffff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`;
  });
  return `${quote}${escaped}${quote}`;
}
