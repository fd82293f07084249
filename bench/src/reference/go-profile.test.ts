import { expect, test } from '@jest/globals';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { gzipSync } from 'node:zlib';
import { cpuBelow, readGoProfile } from './go-profile.ts';

/** A message of varints and parts, by field number. */
function message(...fields: readonly (readonly [number, number | Uint8Array])[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const [field, value] of fields) {
    if (typeof value === 'number') writer.tag(field, WireType.Varint).uint64(value);
    else writer.tag(field, WireType.LengthDelimited).bytes(value);
  }
  return writer.finish();
}
const text = (value: string) => new TextEncoder().encode(value);

test('the CPU below a function counts what it has called, and inlined functions', () => {
  const texts = ['', 'k8s.io/eviction.(*managerImpl).synchronize', 'main.other', 'syscall.read'];
  // The function n has the name texts[n]; the location 1 is the loop, 2 has the function 2 inlined into 3.
  const profile = message(
    ...texts.map((value) => [6, text(value)] as const),
    ...[1, 2, 3].map((id) => [5, message([1, id], [2, id])] as const),
    [4, message([1, 1], [4, message([1, 1])])],
    [4, message([1, 2], [4, message([1, 2])], [4, message([1, 3])])],
    [2, message([1, Uint8Array.of(2, 1)], [2, Uint8Array.of(1, 0x80, 0xad, 0xe2, 0x04)])],
    [2, message([1, 2], [2, 2], [2, 20_000_000])],
    [10, 30_000_000_000],
  );
  const read = readGoProfile(gzipSync(profile));
  expect(read).toEqual({
    durationMs: 30_000,
    samples: [
      { functions: ['main.other', 'syscall.read', texts[1]], cpuMs: 10 },
      { functions: ['main.other', 'syscall.read'], cpuMs: 20 },
    ],
  });
  expect(cpuBelow(read, 'eviction.(*managerImpl).synchronize')).toBe(10);
  expect(cpuBelow(read, 'read')).toBe(30);
});
