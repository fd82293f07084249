import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { gunzipSync } from 'node:zlib';

/** A CPU profile of a Go program. */
export interface GoProfile {
  /** How long it was observed, in milliseconds. */
  readonly durationMs: number;
  /** CPU time in milliseconds by what was running: the functions, the innermost first. */
  readonly samples: readonly { readonly functions: readonly string[]; readonly cpuMs: number }[];
}

/** CPU time in functions whose name ends so, and in what they called, in milliseconds. */
export function cpuBelow({ samples }: GoProfile, name: string): number {
  return samples
    .filter(({ functions }) => functions.some((one) => one.endsWith(name)))
    .reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}

/** Reads what `/debug/pprof/profile` returns (github.com/google/pprof, proto/profile.proto). */
export function readGoProfile(file: Uint8Array): GoProfile {
  const profile = fieldsOf(gunzipSync(file));
  const texts = profile.all(6).map((bytes) => new TextDecoder().decode(bytes));
  const functions = new Map(
    profile.all(5).map((bytes) => {
      const one = fieldsOf(bytes);
      return [one.number(1), texts[one.number(2)] ?? ''];
    }),
  );
  const locations = new Map(
    profile.all(4).map((bytes): [number, string[]] => {
      const one = fieldsOf(bytes);
      return [one.number(1), one.all(4).map((line) => functions.get(fieldsOf(line).number(1)) ?? '')];
    }),
  );
  const samples = profile.all(2).map((bytes) => {
    const one = fieldsOf(bytes);
    // The values are the number of samples and their time in nanoseconds.
    const [, nanos = 0] = one.numbers(2);
    return { functions: one.numbers(1).flatMap((id) => locations.get(id) ?? []), cpuMs: nanos / 1e6 };
  });
  return { durationMs: profile.number(10) / 1e6, samples };
}

/** The fields of a protobuf message by their numbers. */
function fieldsOf(bytes: Uint8Array) {
  const parts = new Map<number, Uint8Array[]>();
  const values = new Map<number, number[]>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (type === WireType.Varint) values.set(field, [...(values.get(field) ?? []), Number(reader.uint64())]);
    else if (type === WireType.LengthDelimited) parts.set(field, [...(parts.get(field) ?? []), reader.bytes()]);
    else reader.skip(type, field);
  }
  return {
    all: (field: number) => parts.get(field) ?? [],
    number: (field: number) => values.get(field)?.[0] ?? 0,
    /** Repeated numbers, packed or one by one. */
    numbers: (field: number) => [...(values.get(field) ?? []), ...(parts.get(field) ?? []).flatMap(packed)],
  };
}

function packed(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) numbers.push(Number(reader.uint64()));
  return numbers;
}
