import type { Labels, MetricFamily, MetricSample, MetricSeries } from './family.ts';

/** The content type of {@link exposition}. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Families in Prometheus' text format 0.0.4. Written here because the library of Node's world has no timestamps on samples, which
 * readers of /metrics/resource rely on, and keeps its own copy of every value.
 *
 * @param common labels of every sample, after its own.
 */
export function exposition(families: readonly MetricFamily[], common: Labels = {}): string {
  const parts: string[] = [];
  writeExposition(families, (part) => parts.push(part), common);
  return parts.join('');
}

/** Takes a part of a text; what is said `again` is the same string as before. */
export type WritePart = (part: string, again?: 'again') => void;

/** Gives the same to `write` in small parts, for those who do not want to hold it as one text. */
export function writeExposition(families: readonly MetricFamily[], write: WritePart, common: Labels = {}): void {
  const labels = new LabelTexts(pairs(common));
  for (const family of families) {
    const { name, help, type } = family;
    write(`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`);
    if (family.type === 'histogram') for (const one of family.series) writeSeries(name, one, labels, write);
    else for (const one of family.samples) writeSample(name, one, labels, write);
  }
}

function writeSample(name: string, sample: MetricSample, labels: LabelTexts, write: WritePart): void {
  const { value, timestampMs, further } = sample;
  const shared = labels.of(sample.labels);
  write(name, 'again');
  if (shared !== '') write(shared, 'again');
  const time = timestampMs === undefined ? '' : ` ${Math.trunc(timestampMs)}`;
  write(`${ending(shared, further)} ${numeral(value)}${time}\n`);
}

function writeSeries(name: string, series: MetricSeries, labels: LabelTexts, write: WritePart): void {
  const { buckets, sum, count } = series;
  const shared = labels.of(series.labels);
  const bucket = (le: string) => `${name}_bucket${shared}${ending(shared, { le })}`;
  for (const { le, count: within } of buckets) write(`${bucket(numeral(le))} ${within}\n`);
  write(`${bucket('+Inf')} ${count}\n`);
  const own = `${shared}${ending(shared)}`;
  write(`${name}_sum${own} ${numeral(sum)}\n${name}_count${own} ${count}\n`);
}

/** What comes after the labels that samples share. */
function ending(shared: string, further?: Labels): string {
  if (further === undefined) return shared === '' ? '' : '}';
  return `${shared === '' ? '{' : ','}${pairs(further)}}`;
}

/** Labels as text, without the end. What many samples share is made once: the labels of a container stand on fifty of them. */
class LabelTexts {
  readonly #common: string;
  readonly #known = new Map<Labels, string>();

  constructor(common: string) {
    this.#common = common;
  }

  of(labels: Labels): string {
    let text = this.#known.get(labels);
    if (text === undefined) {
      const all = joined(pairs(labels), this.#common);
      text = all === '' ? '' : `{${all}`;
      this.#known.set(labels, text);
    }
    return text;
  }
}

function pairs(labels: Labels): string {
  let text = '';
  for (const name in labels) text += `${text === '' ? '' : ','}${name}="${escaped(labels[name] ?? '')}"`;
  return text;
}

function joined(first: string, second: string): string {
  return first === '' || second === '' ? first + second : `${first},${second}`;
}

function escaped(value: string): string {
  return /["\\\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value;
}

function numeral(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}
