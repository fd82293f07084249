/** A metric family as a scraper reads it. */
export interface ReadFamily {
  readonly type: string;
  /** The labels of each sample, and its value. `le` of a histogram's buckets is taken out. */
  readonly samples: { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const TYPES = ['counter', 'gauge', 'histogram', 'summary', 'untyped'];

/**
 * Reads Prometheus' text format 0.0.4 strictly: each metric has its help and its type, once and before its samples, no two samples
 * have the same labels, and the buckets of a histogram grow up to its count.
 *
 * @throws Error with the first line that breaks a rule.
 */
export function readExposition(text: string): Map<string, ReadFamily> {
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line has no line feed');
  const families = new Map<string, ReadFamily>();
  const histograms = new Histograms();
  const seen = new Set<string>();
  let current = '';
  let helped = '';
  for (const line of text.split('\n').slice(0, -1)) {
    const [, word = '', name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (word === 'HELP') {
      if (!NAME.test(name) || families.has(name))
        throw new Error(`metric occurs twice, or its name is invalid: ${line}`);
      helped = name;
    } else if (word === 'TYPE') {
      if (name !== helped || !TYPES.includes(rest) || families.has(name))
        throw new Error(`TYPE does not follow its HELP: ${line}`);
      families.set(name, { type: rest, samples: [] });
      current = name;
    } else {
      const sample = readSample(line);
      const family = families.get(current);
      const suffix = sample.name.slice(current.length);
      const suffixes = family?.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
      if (family === undefined || !sample.name.startsWith(current) || !suffixes.includes(suffix)) {
        throw new Error(`sample is not of metric ${current}: ${line}`);
      }
      const key = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
      if (seen.has(key)) throw new Error(`sample occurs twice: ${line}`);
      seen.add(key);
      const { le: _, ...labels } = sample.labels;
      if (suffix !== '') histograms.take(current, suffix, sample);
      if (suffix === '' || suffix === '_count') family.samples.push({ labels, value: sample.value });
    }
  }
  histograms.check();
  return families;
}

interface ReadSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

function readSample(line: string): ReadSample {
  const [, name = '', , inner = '', value = ''] =
    /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? ([^ ]+)( -?\d+)?$/.exec(line) ?? [];
  const labels: Record<string, string> = {};
  const pair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;
  while (pair.lastIndex < inner.length) {
    const found = pair.exec(inner);
    const [, label = '', escaped = ''] = found ?? [];
    if (found === null || label in labels) throw new Error(`invalid sample: ${line}`);
    labels[label] = escaped.replaceAll(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
  }
  const number = value === '+Inf' ? Infinity : value === '-Inf' ? -Infinity : value === 'NaN' ? NaN : Number(value);
  if (name === '' || (Number.isNaN(number) && value !== 'NaN')) throw new Error(`invalid sample: ${line}`);
  return { name, labels, value: number };
}

/** The series of histograms, by metric and labels. */
class Histograms {
  readonly #series = new Map<string, { buckets: [le: number, count: number][]; sum?: number; count?: number }>();

  take(metric: string, suffix: string, { labels, value }: ReadSample): void {
    const { le, ...own } = labels;
    const key = JSON.stringify([metric, Object.entries(own).sort()]);
    const series = this.#series.get(key) ?? { buckets: [] };
    this.#series.set(key, series);
    if (suffix === '_bucket') series.buckets.push([le === '+Inf' ? Infinity : Number(le), value]);
    else if (suffix === '_sum') series.sum = value;
    else series.count = value;
  }

  check(): void {
    for (const [key, { buckets, sum, count }] of this.#series) {
      const grows = buckets.every(([le, value], at) => {
        const [before, less] = buckets[at - 1] ?? [-Infinity, 0];
        return le > before && value >= less;
      });
      const [last, all] = buckets.at(-1) ?? [];
      if (!grows || last !== Infinity || all !== count || sum === undefined)
        throw new Error(`invalid histogram: ${key}`);
    }
  }
}
