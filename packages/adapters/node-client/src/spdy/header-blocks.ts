/**
 * The first bytes of the headers' zlib stream (RFC 1950): deflate with a window of 32 KiB, and a preset dictionary, the one of
 * draft 3.1, section 2.6.10.1, named by its Adler-32.
 */
const ZLIB_HEAD = Buffer.from([0x78, 0x20, 0xe3, 0xc6, 0xa7, 0xc2]);

/** The longest stored block (RFC 1951, section 3.2.4). */
const LONGEST = 0xffff;

/**
 * Name and value blocks of one connection (draft 3.1, section 2.6.10). They are one deflate stream over all frames; its blocks
 * are stored uncompressed, since headers occur once per stream and are short. So the dictionary is named but never used.
 */
export class HeaderBlocks {
  #started = false;

  /** @param headers names in lower case */
  encode(headers: Readonly<Record<string, string>>): Buffer {
    const pairs = Object.entries(headers);
    const plain = Buffer.concat([uint32(pairs.length), ...pairs.flatMap((pair) => pair.flatMap(text))]);
    const parts: Buffer[] = this.#started ? [] : [ZLIB_HEAD];
    this.#started = true;
    for (let at = 0; at < plain.length; at += LONGEST) parts.push(stored(plain.subarray(at, at + LONGEST)));
    // An empty block, as of a flush, after which the reader outputs what it has.
    return Buffer.concat([...parts, stored(Buffer.alloc(0))]);
  }
}

function text(value: string): Buffer[] {
  const bytes = Buffer.from(value);
  return [uint32(bytes.length), bytes];
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A block that is not the last one. */
function stored(bytes: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(~bytes.length & LONGEST, 3);
  return Buffer.concat([head, bytes]);
}
