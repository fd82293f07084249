import { describe, expect, test } from '@jest/globals';
import { KubusError } from '@kubus/ports';
import fc from 'fast-check';
import { pack, unpack } from '../src/index.ts';

const throughJson = (value: unknown) => unpack(JSON.parse(JSON.stringify(pack(value))));

describe('a packed value is unpacked unchanged', () => {
  test('including Maps and bigints', () => {
    const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.bigInt());
    const value = fc.oneof(
      leaf,
      fc.array(leaf),
      fc.dictionary(fc.string(), leaf),
      fc.array(fc.tuple(fc.string(), leaf)),
    );
    const nested = fc.oneof(
      value,
      fc.array(fc.tuple(fc.string(), value)).map((entries) => new Map(entries)),
    );
    fc.assert(
      fc.property(nested, (one) => {
        // JSON has no member with this name.
        fc.pre(
          !JSON.stringify(one, (_, inner: unknown) => (typeof inner === 'bigint' ? 0 : inner)).includes('__proto__'),
        );
        expect(throughJson(one)).toEqual(one);
      }),
    );
  });

  test('and undefined becomes nothing, both alone and in an object', () => {
    expect(throughJson(undefined)).toBeUndefined();
    expect(throughJson({ a: undefined, b: 1 })).toEqual({ b: 1 });
  });

  test('and a KubusError keeps its code and context, a system error its code', () => {
    const own = throughJson(
      new KubusError('still-mounted', 'x is mounted', { context: { path: '/x', count: undefined } }),
    );
    expect(own).toBeInstanceOf(KubusError);
    expect(own).toMatchObject({ code: 'still-mounted', message: 'x is mounted', context: { path: '/x' } });
    const system = throughJson(Object.assign(new Error('no such file'), { code: 'ENOENT' }));
    expect(system).toMatchObject({ code: 'ENOENT', message: 'no such file' });
    expect(throughJson(new Error('plain'))).toEqual(new Error('plain'));
  });
});
