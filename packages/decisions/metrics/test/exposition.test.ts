import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Distribution, type MetricFamily, exposition } from '../src/index.ts';

describe('the text of families', () => {
  test('contains values, labels and timestamps', () => {
    const pods: MetricFamily = {
      name: 'pods',
      help: 'Pods, by a \\ or\na "word".',
      type: 'gauge',
      samples: [
        { labels: {}, value: 3 },
        { labels: { name: 'a"b\\c\nd', other: '' }, value: Number.NaN, timestampMs: 1500.9 },
        { labels: { name: 'x' }, value: Number.NEGATIVE_INFINITY },
      ],
    };
    expect(exposition([pods])).toBe(
      [
        '# HELP pods Pods, by a \\\\ or\\na "word".',
        '# TYPE pods gauge',
        'pods 3',
        'pods{name="a\\"b\\\\c\\nd",other=""} NaN 1500',
        'pods{name="x"} -Inf',
        '',
      ].join('\n'),
    );
  });

  test('contains shared labels and further labels of single samples', () => {
    const labels = { name: 'x' };
    const samples = [
      { labels, value: 1 },
      { labels, further: { disk: 'a' }, value: 2 },
      { labels: {}, further: { disk: '"' }, value: 3 },
    ];
    const text = exposition([{ name: 'm', help: '', type: 'gauge', samples }], { service: 's' });
    expect(text.split('\n').slice(2, -1)).toEqual([
      'm{name="x",service="s"} 1',
      'm{name="x",service="s",disk="a"} 2',
      'm{service="s",disk="\\""} 3',
    ]);
  });

  test('contains a histogram', () => {
    const seconds = new Distribution([0.1, 1]);
    for (const value of [0.05, 0.5, 0.75, 2]) seconds.observe({ what: 'mount' }, value);
    const took: MetricFamily = { name: 'took_seconds', help: 'Times.', type: 'histogram', series: seconds.series };
    expect(exposition([took], { service: 's' }).split('\n').slice(2)).toEqual([
      'took_seconds_bucket{what="mount",service="s",le="0.1"} 1',
      'took_seconds_bucket{what="mount",service="s",le="1"} 3',
      'took_seconds_bucket{what="mount",service="s",le="+Inf"} 4',
      'took_seconds_sum{what="mount",service="s"} 3.3',
      'took_seconds_count{what="mount",service="s"} 4',
      '',
    ]);
  });

  test('contains a family without samples', () => {
    expect(exposition([])).toBe('');
    expect(exposition([{ name: 'none', help: 'None.', type: 'counter', samples: [] }])).toBe(
      '# HELP none None.\n# TYPE none counter\n',
    );
  });

  test('contains label values that parse back unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const text = exposition([
          { name: 'm', help: '', type: 'gauge', samples: [{ labels: { l: value }, value: 1 }] },
        ]);
        const quoted = /^m\{l="(.*)"\} 1$/ms.exec(text)?.[1] ?? '';
        expect(quoted).not.toContain('\n');
        expect(quoted.replace(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one))).toBe(value);
      }),
    );
  });
});

test('a distribution counts every value once, in the first bucket that contains it', () => {
  const bounds = [-1, 0, 2.5, 10];
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -20, max: 20 })), (values) => {
      const seen = new Distribution(bounds);
      for (const value of values) seen.observe({}, value);
      const [series] = seen.series;
      expect(series?.count ?? 0).toBe(values.length);
      expect(series?.sum ?? 0).toBe(values.reduce((sum, value) => sum + value, 0));
      for (const { le, count } of series?.buckets ?? []) {
        expect(count).toBe(values.filter((value) => value <= le).length);
      }
    }),
  );
});
