import { type Pair, type Scalar, type YAMLMap, isMap, parseDocument } from 'yaml';
import { ChartError } from './errors.ts';

/** One value of a chart: its path, its default as JSON, and its description. */
export interface DocumentedValue {
  readonly path: string;
  readonly value: string;
  readonly text: string;
}

/** The beginning of a comment that describes the value below it, as in helm-docs. */
const MARK = '-- ';

/**
 * The values of a values.yaml with the comments above them.
 *
 * @throws ChartError `NotDocumented` that names a value without a description of its own or of a mapping above it.
 */
export function documentedValues(text: string): DocumentedValue[] {
  const { contents } = parseDocument(text);
  return isMap(contents) ? rowsOf(contents as YAMLMap<Scalar>, '', false) : [];
}

function rowsOf(map: YAMLMap<Scalar>, above: string, isDocumented: boolean): DocumentedValue[] {
  return map.items.flatMap((pair, index) => {
    const path = `${above}${String(pair.key.value)}`;
    // The parser attaches the comment above the first value of a mapping to the mapping.
    const said = descriptionOf(index === 0 ? (map.commentBefore ?? pair.key.commentBefore) : pair.key.commentBefore);
    const row = said === undefined ? [] : [{ path, value: JSON.stringify(pair.value), text: said }];
    const documented = isDocumented || said !== undefined;
    const inner = isNested(pair) ? rowsOf(pair.value, `${path}.`, documented) : [];
    if (!documented && inner.length === 0)
      throw new ChartError(
        'NotDocumented',
        `values.yaml: ${path} has no description: add a comment "# -- ..." above it`,
      );
    return [...row, ...inner];
  });
}

function isNested(pair: Pair<Scalar>): pair is Pair<Scalar, YAMLMap<Scalar>> & { value: YAMLMap<Scalar> } {
  return isMap(pair.value);
}

function descriptionOf(comment: string | null | undefined): string | undefined {
  const lines = (comment ?? '').split('\n').map((line) => line.trim());
  const first = lines.findIndex((line) => line.startsWith(MARK));
  if (first < 0) return undefined;
  return lines.slice(first).join(' ').slice(MARK.length).trim();
}

/** The table of a chart's README. */
export function valuesTable(values: readonly DocumentedValue[]): string {
  const cell = (text: string) => text.replaceAll('|', '\\|');
  const rows = values.map(({ path, value, text }) => `| \`${path}\` | \`${cell(value)}\` | ${cell(text)} |`);
  return ['| value | default | |', '| --- | --- | --- |', ...rows].join('\n');
}

const BEGIN = '<!-- values: made by "pnpm --filter @kubus/chart table" -->';
const END = '<!-- end of values -->';

/** The README with its table replaced. Throws ChartError `NoTable` when it has no place for the table. */
export function withTable(readme: string, table: string): string {
  const [before, rest] = readme.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined) {
    throw new ChartError('NoTable', `README.md must have the lines ${BEGIN} and ${END}`);
  }
  return `${before}${BEGIN}\n\n${table}\n\n${END}${after}`;
}
