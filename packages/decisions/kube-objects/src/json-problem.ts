import { goQuoted } from '@kubus/pod';

const DEEPEST = 10_000;
const END = 'unexpected end of JSON input';

type Container = 'object' | 'array';

/**
 * Why bytes are no JSON, in the words of Go's decoder (encoding/json, the scanner), which clients see from the reference; undefined: they are
 * JSON, nested at most 10,000 deep.
 */
export function jsonProblem(bytes: Uint8Array): string | undefined {
  try {
    new Scanner(bytes).document();
    return undefined;
  } catch (error) {
    if (error instanceof NoJson) return error.message;
    throw error;
  }
}

/** Whether bytes may be nested deeper than {@link jsonProblem} allows: a quick look, which most answer with no. */
export function mayBeTooDeep(bytes: Uint8Array): boolean {
  let opened = 0;
  for (const byte of bytes) if (byte === 0x7b || byte === 0x5b) opened++;
  return opened > DEEPEST;
}

class NoJson extends Error {}

/** Reads JSON without building a value. It does not recurse: the depth of a document is its sender's choice. */
class Scanner {
  readonly #bytes: Uint8Array;
  readonly #open: Container[] = [];
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  document(): void {
    do this.#beginning();
    while (!this.#ended());
    this.#space();
    if (this.#at < this.#bytes.length) throw this.#unexpected('after top-level value');
  }

  /** A scalar, or the beginning of an object or a list with its first key. */
  #beginning(): void {
    for (;;) {
      const opened = this.#scalarOrOpening();
      if (opened === undefined) return;
      if (this.#open.length >= DEEPEST) throw this.#unexpected('exceeded max depth');
      this.#open.push(opened);
      this.#at++;
      if (this.#peek() === (opened === 'object' ? '}' : ']')) return;
      if (opened === 'object') this.#key();
    }
  }

  #scalarOrOpening(): Container | undefined {
    const first = this.#peek();
    if (first === '{') return 'object';
    if (first === '[') return 'array';
    if (first === '"') this.#text();
    else if (first === '-' || isDigit(first)) this.#number();
    else {
      const literal = ['true', 'false', 'null'].find((word) => word.startsWith(first));
      if (literal === undefined) throw this.#unexpected('looking for beginning of value');
      this.#literal(literal);
    }
    return undefined;
  }

  /** Closes what ends here. @returns whether the document has ended; else a value follows. */
  #ended(): boolean {
    for (let container = this.#open.at(-1); container !== undefined; container = this.#open.at(-1)) {
      const next = this.#peek();
      if (next === ',') {
        this.#at++;
        if (container === 'object') this.#key();
        return false;
      }
      if (next !== (container === 'object' ? '}' : ']')) {
        throw this.#unexpected(container === 'object' ? 'after object key:value pair' : 'after array element');
      }
      this.#at++;
      this.#open.pop();
    }
    return true;
  }

  #key(): void {
    if (this.#peek() !== '"') throw this.#unexpected('looking for beginning of object key string');
    this.#text();
    if (this.#peek() !== ':') throw this.#unexpected('after object key');
    this.#at++;
  }

  #text(): void {
    for (this.#at++; this.#char() !== '"'; this.#at++) {
      if (this.#at >= this.#bytes.length) throw new NoJson(END);
      if (this.#char() < ' ') throw this.#unexpected('in string literal');
      if (this.#char() === '\\') this.#escape();
    }
    this.#at++;
  }

  #escape(): void {
    this.#at++;
    if (!'bfnrt\\/"u'.includes(this.#char())) throw this.#unexpected('in string escape code');
    if (this.#char() !== 'u') return;
    for (let digits = 0; digits < 4; digits++) {
      this.#at++;
      if (!/[0-9a-fA-F]/.test(this.#char())) throw this.#unexpected('in \\u hexadecimal character escape');
    }
  }

  #number(): void {
    if (this.#char() === '-') this.#at++;
    if (this.#char() === '0') this.#at++;
    else this.#digits('in numeric literal');
    if (this.#char() === '.') {
      this.#at++;
      this.#digits('after decimal point in numeric literal');
    }
    if (!/[eE]/.test(this.#char())) return;
    this.#at++;
    if (/[+-]/.test(this.#char())) this.#at++;
    this.#digits('in exponent of numeric literal');
  }

  #digits(where: string): void {
    if (!isDigit(this.#char())) throw this.#unexpected(where);
    while (isDigit(this.#char())) this.#at++;
  }

  #literal(word: string): void {
    for (const expected of word) {
      if (this.#char() !== expected) throw this.#unexpected(`in literal ${word} (expecting '${expected}')`);
      this.#at++;
    }
  }

  /** The next character that is no space. */
  #peek(): string {
    this.#space();
    if (this.#at >= this.#bytes.length) throw new NoJson(END);
    return this.#char();
  }

  #space(): void {
    while (this.#at < this.#bytes.length && ' \t\r\n'.includes(this.#char())) this.#at++;
  }

  /** Go reads a space behind the end, so that a number may end there, and nothing else may. */
  #char(): string {
    return String.fromCharCode(this.#bytes[this.#at] ?? 0x20);
  }

  #unexpected(where: string): NoJson {
    return new NoJson(`invalid character ${goQuoted(this.#char(), "'")} ${where}`);
  }
}

const isDigit = (char: string) => char >= '0' && char <= '9';
