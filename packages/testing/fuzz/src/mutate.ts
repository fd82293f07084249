import type { Random } from '@kubus/ports';

/** No parser is given more (bytes): what counts as too large has its own tests. */
export const LONGEST = 128 * 1024;

/** Where parsers decide: limits of integers, of text, and of the formats that are read here. */
const pieces = [
  ...[
    '',
    '\0',
    '\n',
    '\r\n',
    ' ',
    '"',
    "'",
    '\\',
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '-',
    '&',
    '=',
    '%',
    '%00',
    '%zz',
    '+',
    '#',
    '*a',
    '&a',
  ],
  ...['null', 'true', '0', '-1', '1e309', '9007199254740993', '4294967296', '18446744073709551616', 'NaN', '0x10'],
  ...[
    '__proto__',
    'constructor',
    'toString',
    '\u2028',
    '\ud800',
    '\ufeff',
    'é',
    '𐏿',
    '<<: *a',
    '!!js/x',
    '---\n',
    '|\n',
    '>-\n',
  ],
  ...[
    '\u001b]0;x\u0007',
    '../',
    '/',
    '..',
    'kubus.',
    '.>',
    '*',
    '00-',
    'T00:00:00Z',
    '2026-01-01T00:00:00.000000Z',
    ' F ',
    ' P ',
  ],
].map((text) => Buffer.from(text));

const numbers = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];

/** One to eight changes of one input, some with a piece of another one. */
export function mutate(random: Random, input: Buffer, other: Buffer): Buffer {
  let bytes: Buffer = Buffer.from(input);
  for (let left = 1 + random.below(8); left > 0; left -= 1) bytes = change(random, bytes, other);
  return bytes.subarray(0, LONGEST);
}

function change(random: Random, bytes: Buffer, other: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  const until = Math.min(bytes.length, at + 1 + random.below(random.chance(0.2) ? 1024 : 8));
  const replace = (to: number, by: Buffer) => Buffer.concat([bytes.subarray(0, at), by, bytes.subarray(to)]);
  switch (random.below(8)) {
    case 0:
      return flip(random, bytes, at);
    case 1:
      return replace(until, Buffer.alloc(0));
    case 2:
      return replace(at, bytes.subarray(at, until));
    case 3:
      return replace(random.chance(0.5) ? at : until, random.pick(pieces));
    case 4:
      return number(random, bytes, at);
    case 5: {
      const from = random.below(other.length + 1);
      return replace(random.chance(0.5) ? at : until, other.subarray(from, from + 1 + random.below(64)));
    }
    case 6:
      return replace(
        at,
        Buffer.from(
          bytes
            .subarray(at, until)
            .toString('latin1')
            .repeat(1 + random.below(random.chance(0.1) ? 500 : 4)),
          'latin1',
        ),
      );
    default:
      return Buffer.concat([bytes.subarray(0, at), other.subarray(random.below(other.length + 1))]);
  }
}

function flip(random: Random, bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  if (at < changed.length)
    changed[at] = random.chance(0.5) ? random.below(256) : (changed[at] ?? 0) ^ (1 << random.below(8));
  return changed;
}

/** A number of one, two or four bytes, where it fits. */
function number(random: Random, bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  const value = random.pick(numbers);
  if (at + 4 <= changed.length && random.chance(0.6)) changed.writeUInt32BE(value, at);
  else if (at + 2 <= changed.length && random.chance(0.6)) changed.writeUInt16BE(value & 0xffff, at);
  else if (at < changed.length) changed[at] = value & 0xff;
  return changed;
}
