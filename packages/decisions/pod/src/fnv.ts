/**
 * FNV-1a with 128 bits over the UTF-8 bytes of `text`, as 32 lower-case hexadecimal digits.
 * Source: Fowler, Noll, Vo; draft-eastlake-fnv. The prime is 2^88 + 0x13b.
 */
export function fnv128a(text: string): string {
  // Four words of 32 bits, the least significant first. Multiplying by the prime is a short multiplication by 0x13b
  // and a shift by 88 bits (two words and 24 bits), which stays within the 53 bits of a number.
  let [w0, w1, w2, w3] = [0x6295c58d, 0x62b82175, 0x07bb0142, 0x6c62272e];
  const take = (byte: number) => {
    w0 = (w0 ^ byte) >>> 0;
    const p0 = w0 * 0x13b;
    const p1 = w1 * 0x13b + Math.floor(p0 / 2 ** 32);
    const p2 = w2 * 0x13b + Math.floor(p1 / 2 ** 32) + ((w0 << 24) >>> 0);
    const p3 = w3 * 0x13b + Math.floor(p2 / 2 ** 32) + (((w1 << 24) | (w0 >>> 8)) >>> 0);
    w0 = p0 >>> 0;
    w1 = p1 >>> 0;
    w2 = p2 >>> 0;
    w3 = p3 >>> 0;
  };
  // toWellFormed: a lone surrogate has no UTF-8 form and is replaced with the replacement character.
  utf8(text.toWellFormed(), take);
  return [w3, w2, w1, w0].map((word) => word.toString(16).padStart(8, '0')).join('');
}

/** Calls `take` with each byte: a generator would cost several objects a byte, and manifests are long. */
function utf8(text: string, take: (byte: number) => void): void {
  for (let index = 0; index < text.length; index++) {
    const code = text.codePointAt(index) ?? 0;
    if (code < 0x80) {
      take(code);
    } else if (code < 0x800) {
      take(0xc0 | (code >> 6));
      take(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      take(0xe0 | (code >> 12));
      take(0x80 | ((code >> 6) & 0x3f));
      take(0x80 | (code & 0x3f));
    } else {
      take(0xf0 | (code >> 18));
      take(0x80 | ((code >> 12) & 0x3f));
      take(0x80 | ((code >> 6) & 0x3f));
      take(0x80 | (code & 0x3f));
      // It is two UTF-16 units.
      index += 1;
    }
  }
}
