import { configError } from './errors.ts';
import { type Kind, int32, int64, listOf, map, mismatch, pair, quantity, string } from './kinds.ts';
import { type Json, isObject } from './merge-patch.ts';

type Parts = Readonly<
  Record<string, Kind<never> | Kind<string> | Kind<number> | Kind<Readonly<Record<string, string>>>>
>;
type ValueOf<K> = K extends Kind<infer T> ? T : never;
/** The parts of the struct; those that a document omits are undefined. */
type Struct<P extends Parts> = { readonly [K in keyof P]: ValueOf<P[K]> | undefined };

/** The strict decoder's text for a field that does not exist. */
export function unknownField(path: string): string {
  return `unknown field ${JSON.stringify(path)}`;
}

function struct<P extends Parts>(parts: P): Pick<Kind<Struct<P>>, 'decode' | 'encode'> {
  return {
    decode: (value, path) => {
      if (!isObject(value)) return mismatch(value, path, 'object');
      const unknown = Object.keys(value).find((key) => !(key in parts));
      if (unknown !== undefined) throw configError(`strict decoding error: ${unknownField(`${path}.${unknown}`)}`);
      const entries = Object.entries(parts).map(([key, kind]) => {
        const part = value[key];
        return [key, part === undefined || part === null ? undefined : kind.decode(part, `${path}.${key}`)];
      });
      return Object.fromEntries(entries) as Struct<P>;
    },
    encode: (value) => {
      const present = Object.entries(value).filter(([, part]) => part !== undefined);
      return Object.fromEntries(present) as Record<string, Json>;
    },
  };
}

function list<P extends Parts>(
  name: string,
  parts: P,
  parse: (texts: readonly string[]) => Struct<P>[],
): Kind<readonly Struct<P>[]> {
  const item = struct(parts);
  return {
    name,
    decode: (value, path) => listOf(value, path, item.decode, `[]${name}`),
    encode: (value) => value.map((one) => item.encode(one)),
    parse,
    isZero: (value) => value.length === 0,
  };
}

/** No flag sets these. */
function noFlag(): never {
  throw configError('cannot be set by a flag');
}

const taintParts = { key: string, value: string, effect: string, timeAdded: string };

/** `key=value:effect,key:effect` */
export const taints = list('[]Taint', taintParts, (texts) =>
  texts
    .flatMap((text) => text.split(','))
    .filter((text) => text !== '')
    .map((text) => {
      const [, key, value, effect] = /^([^=:]+)(?:=([^:]*))?:([^:]+)$/.exec(text) ?? [];
      if (key === undefined || effect === undefined) throw configError(`invalid taint spec: ${text}`);
      return { key, value: value === '' ? undefined : value, effect, timeAdded: undefined };
    }),
);

const quantities: Kind<Readonly<Record<string, string>>> = {
  ...map,
  decode: (value, path) => {
    if (!isObject(value)) return mismatch(value, path, 'map[string]Quantity');
    return Object.fromEntries(
      Object.entries(value).map(([name, text]) => [name, quantity.decode(text, `${path}.${name}`)]),
    );
  },
};

/** `0:memory=1Gi,hugepages-1M=2Gi`, once for each NUMA node. */
export const memoryReservations = list('reserved-memory', { numaNode: int32, limits: quantities }, (texts) =>
  texts.map((text) => {
    const [node, limits] = pair(text, ':');
    return { numaNode: int32.parse([node]), limits: map.parse([limits]) };
  }),
);

export const shutdownPeriods = list(
  '[]ShutdownGracePeriodByPodPriority',
  { priority: int32, shutdownGracePeriodSeconds: int64 },
  noFlag,
);

/** `pattern=N,pattern=N` */
export const verbosities = list('pattern=N,...', { filePattern: string, verbosity: int32 }, (texts) =>
  Object.entries(map.parse(texts)).map(([filePattern, level]) => ({ filePattern, verbosity: int32.parse([level]) })),
);

/** A struct that is present or not; no flag sets it. */
export const tracing: Kind<Struct<{ endpoint: Kind<string>; samplingRatePerMillion: Kind<number> }>> = {
  name: 'TracingConfiguration',
  ...struct({ endpoint: string, samplingRatePerMillion: int32 }),
  parse: noFlag,
  isZero: () => false,
};
