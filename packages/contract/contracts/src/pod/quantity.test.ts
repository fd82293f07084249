import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatQuantity, parseQuantity, quantityMilli, quantityUnits } from './quantity.ts';

const nano = 10n ** 9n;

describe('parseQuantity', () => {
  test.each([
    ['0', 0n],
    ['100m', nano / 10n],
    ['.5', nano / 2n],
    ['1.', nano],
    ['+1.5', (3n * nano) / 2n],
    ['-2k', -2000n * nano],
    ['1e3', 1000n * nano],
    ['1E-3', nano / 1000n],
    ['1E', 10n ** 18n * nano],
    ['1.5Gi', 1610612736n * nano],
    ['1n', 1n],
    ['0.1n', 1n],
    ['-0.1n', -1n],
    ['0.0000000011', 2n],
    ['9223372036854775807', (2n ** 63n - 1n) * nano],
    ['8Ei', (2n ** 63n - 1n) * nano],
    ['1e100', (2n ** 63n - 1n) * nano],
  ])('%s is parsed as %s billionths', (text, expected) => expect(parseQuantity(text)?.nano).toBe(expected));

  test.each(['', ' 1', '1 Gi', '1KB', '1K', 'Gi', '.', '--1', '1e', '1.5.5', '0x10', '1_000', 'NaN', '1e99999'])(
    '%j is not a quantity',
    (text) => expect(parseQuantity(text)).toBeUndefined(),
  );
});

describe('quantityUnits and quantityMilli', () => {
  test.each([
    ['1.5', 2n, 1500n],
    ['100m', 1n, 100n],
    ['0.1m', 1n, 1n],
    ['-1.5', -2n, -1500n],
    ['64Mi', 67108864n, 67108864000n],
    ['0', 0n, 0n],
  ])('%s is %s units or %s thousandths', (text, units, milli) => {
    const quantity = parseQuantity(text) ?? { nano: -1n, format: 'DecimalSI' as const };
    expect(quantityUnits(quantity)).toBe(units);
    expect(quantityMilli(quantity)).toBe(milli);
  });
});

describe('formatQuantity', () => {
  test.each([
    ['0', '0'],
    ['0Gi', '0'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['0.5', '500m'],
    ['1000', '1k'],
    ['1500000', '1500k'],
    ['1024', '1024'],
    ['1024Ki', '1Mi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Ki', '512'],
    ['1.5Ki', '1536'],
    ['1.0001Ki', '1024102400u'],
    ['1e3', '1e3'],
    ['100e-3', '100e-3'],
    ['-1Gi', '-1Gi'],
    ['123n', '123n'],
    ['1E', '1E'],
  ])('%s becomes %s', (text, expected) => {
    expect(formatQuantity(parseQuantity(text) ?? { nano: 0n, format: 'DecimalSI' })).toBe(expected);
  });

  test('returns text that parses to the same amount and is formatted the same way again', () => {
    const suffix = fc.constantFrom('n', 'u', 'm', '', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e3', 'e-2', 'E6');
    const digits = fc.tuple(fc.bigInt({ min: -(10n ** 9n), max: 10n ** 9n }), fc.option(fc.nat(999999)), suffix);
    fc.assert(
      fc.property(digits, ([whole, fraction, unit]) => {
        const quantity = parseQuantity(`${whole.toString()}${fraction === null ? '' : `.${fraction}`}${unit}`);
        if (quantity === undefined) throw new Error('not parsed');
        const written = formatQuantity(quantity);
        expect(parseQuantity(written)?.nano).toBe(quantity.nano);
        expect(formatQuantity(parseQuantity(written) ?? quantity)).toBe(written);
      }),
    );
  });
});
