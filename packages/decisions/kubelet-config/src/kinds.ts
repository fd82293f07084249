import { parseQuantity } from '@kubus/contracts';
import { formatGoDuration, goDurationError, parseGoDuration } from '@kubus/pod';
import { toError } from '@kubus/ports';
import { configError } from './errors.ts';
import { type Json, isObject } from './merge-patch.ts';

/** How values of a type are parsed and written. */
export interface Kind<T> {
  /** The type's name in the reference's help and type errors. */
  readonly name: string;
  /** Decodes a value of a document. Throws an error that names the field at `path` and the problem. */
  readonly decode: (value: unknown, path: string) => T;
  encode(value: T): Json;
  /** Parses a flag that was given at least once. Throws an error that states the problem. */
  readonly parse: (texts: readonly string[]) => T;
  /** Whether this is Go's zero value. */
  isZero(value: T): boolean;
}

const MAX_INT32 = 2 ** 31 - 1;

export const bool: Kind<boolean> = {
  name: 'bool',
  decode: (value, path) => (typeof value === 'boolean' ? value : mismatch(value, path, 'bool')),
  encode: (value) => value,
  parse: each((text) => {
    if (/^(1|t|T|TRUE|true|True)$/.test(text)) return true;
    if (/^(0|f|F|FALSE|false|False)$/.test(text)) return false;
    throw configError(`strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`);
  }),
  isZero: (value) => !value,
};

export const int32 = integer('int32', MAX_INT32);
/** Numbers above 2^53 make no sense on a node and are refused. */
export const int64 = integer('int64', Number.MAX_SAFE_INTEGER);

function integer(name: string, max: number): Kind<number> {
  return {
    name,
    decode: (value, path) => {
      const number = typeof value === 'bigint' ? Number(value) : value;
      if (typeof number !== 'number') return mismatch(value, path, name);
      if (Number.isInteger(number) && Math.abs(number) <= max) return number;
      return mismatch(value, path, name, `number ${String(value)}`);
    },
    encode: (value) => value,
    parse: each((text) => {
      const number = /^[+-]?(\d+|0x[\da-f]+|0o[0-7]+|0b[01]+)$/i.test(text) ? Number(text) : Number.NaN;
      if (Number.isNaN(number)) throw configError(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
      if (Math.abs(number) > max)
        throw configError(`strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`);
      return number;
    }),
    isZero: (value) => value === 0,
  };
}

export const float: Kind<number> = {
  name: 'float64',
  decode: (value, path) =>
    typeof value === 'number' || typeof value === 'bigint' ? Number(value) : mismatch(value, path, 'float64'),
  encode: (value) => value,
  parse: each(Number),
  isZero: (value) => value === 0,
};

export const string: Kind<string> = {
  name: 'string',
  decode: (value, path) => (typeof value === 'string' ? value : mismatch(value, path, 'string')),
  encode: (value) => value,
  parse: each((text) => text),
  isZero: (value) => value === '',
};

/** An IP address, as accepted by `--address`. */
export const ip: Kind<string> = {
  ...string,
  name: 'ip',
  parse: each((text) => {
    if (/^[\da-f:.]+$/i.test(text)) return text;
    throw configError(`failed to parse IP: ${JSON.stringify(text)}`);
  }),
};

/** Milliseconds, written in Go's format. */
export const duration: Kind<number> = {
  name: 'duration',
  decode: (value, path) => toDuration(string.decode(value, path), `KubeletConfiguration.${path}: `),
  encode: formatGoDuration,
  parse: each((text) => toDuration(text)),
  // Documents show a zero duration like any other.
  isZero: (value) => value === 0,
};

function toDuration(text: string, where = ''): number {
  const ms = parseGoDuration(text);
  if (ms === undefined) throw configError(`${where}${goDurationError(text)}`);
  return ms;
}

/** A quantity as written, such as `10Mi`; a number is accepted too. */
export const quantity: Kind<string> = {
  ...string,
  name: 'quantity',
  decode: (value, path) => {
    const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : string.decode(value, path);
    if (parseQuantity(text) !== undefined) return text;
    throw configError(`KubeletConfiguration.${path}: ${JSON.stringify(text)} is not a quantity`);
  },
};

export const strings: Kind<readonly string[]> = {
  name: 'strings',
  decode: (value, path) => listOf(value, path, string.decode, '[]string'),
  encode: (value) => value,
  parse: (texts) => texts.flatMap((text) => (text === '' ? [] : text.split(','))),
  isZero: (value) => value.length === 0,
};

export const int32s: Kind<readonly number[]> = {
  name: '[]int32',
  decode: (value, path) => listOf(value, path, int32.decode, '[]int32'),
  encode: (value) => value,
  parse: (texts) => strings.parse(texts).map((text) => int32.parse([text])),
  isZero: (value) => value.length === 0,
};

type StringMap = Readonly<Record<string, string>>;

/** `key=value,key=value` */
export const map: Kind<StringMap> = pairs('mapStringString', (text) => text.split(','), '=');
/** `key=value`; commas are part of the value. */
export const option: Kind<StringMap> = pairs('mapStringString', (text) => [text], '=');
/** `signal<value,signal<value` */
export const thresholds: Kind<StringMap> = pairs('mapStringString', (text) => text.split(','), '<');

function pairs(name: string, split: (text: string) => readonly string[], separator: string): Kind<StringMap> {
  return {
    name,
    decode: (value, path) => mapOf(value, path, string.decode, 'map[string]string'),
    encode: (value) => value,
    parse: (texts) =>
      Object.fromEntries(
        texts
          .flatMap(split)
          .filter((text) => text !== '')
          .map((text) => pair(text, separator)),
      ),
    isZero: isEmpty,
  };
}

export const gates: Kind<Readonly<Record<string, boolean>>> = {
  name: 'mapStringBool',
  decode: (value, path) => mapOf(value, path, bool.decode, 'map[string]bool'),
  encode: (value) => value,
  parse: (texts) =>
    Object.fromEntries(
      Object.entries(map.parse(texts)).map(([key, text]) => {
        try {
          return [key, bool.parse([text])];
        } catch (error) {
          throw configError(`invalid value of ${key}: ${text}, err: ${toError(error).message}`, error);
        }
      }),
    ),
  isZero: isEmpty,
};

/** `Name:value,Name:value`; a name may be repeated. */
export const headers: Kind<Readonly<Record<string, readonly string[]>>> = {
  name: 'colonSeparatedMultimapStringString',
  decode: (value, path) => mapOf(value, path, strings.decode, 'map[string][]string'),
  encode: (value) => value,
  parse: (texts) => {
    const found = new Map<string, string[]>();
    for (const text of texts.flatMap((one) => one.split(',')).filter((one) => one !== '')) {
      const [name, value] = pair(text, ':');
      found.set(name, [...(found.get(name) ?? []), value]);
    }
    return Object.fromEntries(found);
  },
  isZero: isEmpty,
};

function each<T>(parse: (text: string) => T): (texts: readonly string[]) => T {
  return (texts) => {
    const values = texts.map(parse);
    const last = values.at(-1);
    if (last === undefined) throw configError('no value');
    return last;
  };
}

export function pair(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  if (at < 0) throw configError(`malformed pair, expect string${separator}string`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

export function listOf<T>(value: unknown, path: string, decode: Kind<T>['decode'], goType: string): T[] {
  if (!Array.isArray(value)) return mismatch(value, path, goType);
  return value.map((item, index) => decode(item, `${path}[${index}]`));
}

function mapOf<T>(value: unknown, path: string, decode: Kind<T>['decode'], goType: string): Record<string, T> {
  if (!isObject(value)) return mismatch(value, path, goType);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, decode(item, `${path}.${key}`)]));
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}

/** With the text of Go's encoding/json, which people search for. */
export function mismatch(value: unknown, path: string, goType: string, is = jsonType(value)): never {
  throw configError(`json: cannot unmarshal ${is} into Go struct field KubeletConfiguration.${path} of type ${goType}`);
}

function jsonType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'number';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}
