import type { Labels, MetricFamily, MetricSeries, SampleFamily, TakeSample } from './family.ts';

/** The content type of {@link exposition}. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The destination of an exposition. `T` is an encoded text fragment that is written many times. */
export interface ExpositionSink<T> {
  /** Encodes such a fragment. */
  readonly encoded: (text: string) => T;
  readonly again: (part: T) => void;
  /** Writes text that is written once. */
  readonly text: (text: string) => void;
  /** Writes a value, a timestamp after a space where there is one, and the end of the line. */
  readonly value: (value: number, timestampMs: number | undefined) => void;
}

/**
 * Families in Prometheus' text format 0.0.4. Implemented here because the usual library for Node.js has no timestamps on samples, which
 * readers of /metrics/resource rely on, and keeps its own copy of every value.
 *
 * @param common labels of every sample, after its own
 */
export function exposition(families: readonly MetricFamily[], common: Labels = {}): string {
  const parts: string[] = [];
  const push = (text: string) => void parts.push(text);
  const value = (value: number, timestampMs: number | undefined) => push(valueText(value, timestampMs));
  new ExpositionWriter({ encoded: (text) => text, again: push, text: push, value }, common).write(families);
  return parts.join('');
}

/** The end of a sample's line. */
export function valueText(value: number, timestampMs: number | undefined): string {
  return timestampMs === undefined ? `${numeral(value)}\n` : `${numeral(value)} ${Math.trunc(timestampMs)}\n`;
}

/**
 * Writes families in small parts, for callers that do not want the whole text in memory. Labels are converted to text only once
 * as long as their object exists: those of a container are on fifty samples of every exposition.
 */
export class ExpositionWriter<T> {
  readonly #sink: ExpositionSink<T>;
  readonly #common: string;
  readonly #names = new Map<string, T>();
  /** Texts without the closing brace, because more labels may follow. */
  readonly #labels = new WeakMap<Labels, { readonly text: string; readonly part: T }>();
  /** Texts with the closing brace. The first ones are those of samples without other labels. */
  readonly #further = new WeakMap<Labels, readonly [alone: T, more: T]>();
  readonly #end: T;
  readonly #endOfNone: T;

  constructor(sink: ExpositionSink<T>, common: Labels = {}) {
    this.#sink = sink;
    this.#common = pairs(common);
    this.#end = sink.encoded('} ');
    this.#endOfNone = sink.encoded(' ');
  }

  write(families: readonly MetricFamily[]): void {
    for (const family of families) {
      const { name, help, type } = family;
      const said = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
      this.#sink.text(`# HELP ${name} ${said}\n# TYPE ${name} ${type}\n`);
      if (family.type === 'histogram') for (const one of family.series) this.#series(name, one);
      else this.#samples(this.#name(name), family);
    }
  }

  #samples(name: T, family: SampleFamily): void {
    const take: TakeSample = (value, labels, timestampMs, further) =>
      this.#sample(name, value, labels, timestampMs, further);
    if (family.each !== undefined) family.each(take);
    else
      for (const { value, labels, timestampMs, further } of family.samples) take(value, labels, timestampMs, further);
  }

  #sample(name: T, value: number, labels: Labels, timestampMs?: number, further?: Labels): void {
    const { again } = this.#sink;
    const { text, part } = this.#shared(labels);
    again(name);
    if (text !== '') again(part);
    if (further !== undefined) again(this.#ending(further)[text === '' ? 0 : 1]);
    else again(text === '' ? this.#endOfNone : this.#end);
    this.#sink.value(value, timestampMs);
  }

  #series(name: string, { labels, buckets, sum, count }: MetricSeries): void {
    const shared = this.#shared(labels).text;
    const begin = shared === '' ? '{' : `${shared},`;
    const own = shared === '' ? '' : `${shared}}`;
    const bucket = (le: string) => `${name}_bucket${begin}le="${le}"}`;
    for (const { le, count: within } of buckets) this.#sink.text(`${bucket(numeral(le))} ${within}\n`);
    this.#sink.text(`${bucket('+Inf')} ${count}\n`);
    this.#sink.text(`${name}_sum${own} ${numeral(sum)}\n${name}_count${own} ${count}\n`);
  }

  #name(name: string): T {
    let part = this.#names.get(name);
    if (part === undefined) this.#names.set(name, (part = this.#sink.encoded(name)));
    return part;
  }

  #shared(labels: Labels): { readonly text: string; readonly part: T } {
    let shared = this.#labels.get(labels);
    if (shared === undefined) {
      const all = joined(pairs(labels), this.#common);
      const text = all === '' ? '' : `{${all}`;
      this.#labels.set(labels, (shared = { text, part: this.#sink.encoded(text) }));
    }
    return shared;
  }

  #ending(further: Labels): readonly [alone: T, more: T] {
    let ending = this.#further.get(further);
    if (ending === undefined) {
      const text = `${pairs(further)}} `;
      this.#further.set(further, (ending = [this.#sink.encoded(`{${text}`), this.#sink.encoded(`,${text}`)]));
    }
    return ending;
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
