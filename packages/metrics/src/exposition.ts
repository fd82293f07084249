import type { Labels, MetricFamily } from './family.ts';

/** The content type of {@link exposition}. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Families in Prometheus' text format 0.0.4. Written here because the library of Node's world has no timestamps on samples, which
 * readers of /metrics/resource rely on, and keeps its own copy of every value.
 *
 * @param common labels of every sample, after its own.
 */
export function exposition(families: readonly MetricFamily[], common: Labels = {}): string {
  const ending = pairs(common);
  // What many samples share is written once: the labels of a container stand on fifty of them.
  const known = new Map<Labels, string>();
  const labelled = (labels: Labels) => {
    let text = known.get(labels);
    if (text === undefined) {
      text = braced(joined(pairs(labels), ending));
      known.set(labels, text);
    }
    return text;
  };
  return families.map((family) => written(family, ending, labelled)).join('');
}

function written(family: MetricFamily, common: string, labelled: (labels: Labels) => string): string {
  const { name, help, type } = family;
  let text = `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`;
  if (family.type === 'histogram') {
    for (const { labels, buckets, sum, count } of family.series) {
      const own = joined(pairs(labels), common);
      const bucket = (le: string) => `${name}_bucket${braced(joined(own, `le="${le}"`))}`;
      for (const { le, count: within } of buckets) text += `${bucket(numeral(le))} ${within}\n`;
      text += `${bucket('+Inf')} ${count}\n${name}_sum${braced(own)} ${numeral(sum)}\n${name}_count${braced(own)} ${count}\n`;
    }
    return text;
  }
  for (const { labels, value, timestampMs } of family.samples) {
    text += `${name}${labelled(labels)} ${numeral(value)}`;
    text += timestampMs === undefined ? '\n' : ` ${Math.trunc(timestampMs)}\n`;
  }
  return text;
}

function pairs(labels: Labels): string {
  let text = '';
  for (const name in labels) text += `${text === '' ? '' : ','}${name}="${escaped(labels[name] ?? '')}"`;
  return text;
}

function joined(first: string, second: string): string {
  return first === '' || second === '' ? first + second : `${first},${second}`;
}

function braced(text: string): string {
  return text === '' ? '' : `{${text}}`;
}

function escaped(value: string): string {
  return /["\\\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value;
}

function numeral(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}
