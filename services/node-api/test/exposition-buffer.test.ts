// The text of one scrape overwrites the one before.
import { expect, test } from '@jest/globals';
import { type MetricFamily, type MetricSample, exposition } from '@kubus/metrics';
import fc from 'fast-check';
import { ExpositionBuffer } from '../src/metrics/exposition-buffer.ts';

function family(samples: number, label = 'ü€'): MetricFamily {
  const values = Array.from({ length: samples }, (_, value) => ({ labels: { label, value: String(value) }, value }));
  return { name: 'many', help: 'Many.', type: 'gauge', samples: values };
}

test('contains exactly the new text, whatever its length', async () => {
  const buffer = new ExpositionBuffer();
  for (const count of [1, 5_000, 0, 100, 20_000, 3]) {
    const families = [family(count), family(count, 'x')];
    expect(await buffer.use(families, (text) => text.toString())).toBe(exposition(families));
  }
});

test('a text stays until its use has ended', async () => {
  const buffer = new ExpositionBuffer();
  let end = () => {};
  const first = buffer.use([family(2)], async (text) => {
    await new Promise<void>((resolve) => (end = resolve));
    return text.toString();
  });
  const failing = buffer.use([family(3)], () => Promise.reject(new Error('no')));
  const last = buffer.use([family(4)], (text) => text.toString());
  await Promise.resolve();
  end();
  expect(await first).toBe(exposition([family(2)]));
  await expect(failing).rejects.toThrow('no');
  expect(await last).toBe(exposition([family(4)]));
});

test('every number and every time is formatted like in a string', async () => {
  const buffer = new ExpositionBuffer();
  const number = fc.oneof(
    fc.double(),
    fc.maxSafeNat(),
    fc.integer(),
    fc.nat({ max: 17 }).map((zeros) => 10 ** zeros),
    fc.nat({ max: 16 }).map((zeros) => 10 ** zeros - 1),
    fc.constant(-0),
  );
  const sample = fc.record({ value: number, timestampMs: fc.option(fc.maxSafeNat(), { nil: undefined }) });
  await fc.assert(
    fc.asyncProperty(fc.array(sample), async (values) => {
      const samples = values.map(({ value, timestampMs }, at): MetricSample => ({
        ...{ labels: at % 2 === 0 ? {} : { label: 'x' }, value },
        ...(timestampMs !== undefined && { timestampMs }),
      }));
      const families: MetricFamily[] = [{ name: 'm', help: '', type: 'gauge', samples }];
      expect(await buffer.use(families, (text) => text.toString())).toBe(exposition(families));
    }),
  );
});
