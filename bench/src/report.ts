import { type PerProcess, total } from './process-usage.ts';

/** One figure with its floor and its goal. */
export interface Figure {
  readonly name: string;
  readonly unit: 's' | 'ms' | '%' | 'MiB' | 'calls' | 'MB/s';
  /** The same with the CRI calls alone; undefined where there is no such figure. */
  readonly floor?: number;
  readonly kubus: number;
  /** Upper limit. */
  readonly goal?: number;
  /** Lower limit. */
  readonly least?: number;
}

/** Figures as a table of Markdown. */
export function formatFigures(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, unit, floor, kubus, goal, least }) => [
    name,
    show(floor, unit),
    show(kubus, unit),
    goalText(unit, goal, least),
    goal === undefined && least === undefined
      ? ''
      : kubus <= (goal ?? kubus) && kubus >= (least ?? kubus)
        ? 'met'
        : 'missed',
  ]);
  return formatTable(['figure', 'floor', 'Kubus', 'goal', ''], rows);
}

function goalText(unit: Figure['unit'], goal?: number, least?: number): string {
  if (least !== undefined) return `${show(least, unit)} or more`;
  return goal === undefined ? '-' : `${show(goal, unit)} or less`;
}

/** Figures of each process as a table of Markdown, one column for each kind. */
export function formatProcesses(columns: Readonly<Record<string, PerProcess>>): string {
  const names = [...new Set(Object.values(columns).flatMap((figures) => Object.keys(figures)))].sort();
  const rows = names.map((name) => [name, ...Object.values(columns).map((figures) => cell(figures[name]))]);
  const sums = ['total', ...Object.values(columns).map((figures) => cell(total(figures)))];
  return formatTable(['process', ...Object.keys(columns)], [...rows, sums]);
}

/** A table of Markdown. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, index) => Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((text, i) => text.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return [line(header), rule, ...rows.map(line)].join('\n');
}

/** A figure with its unit; `-` for none. */
export function show(value: number | undefined, unit: Figure['unit']): string {
  if (value === undefined) return '-';
  const digits = { s: 3, ms: 0, '%': 1, MiB: 0, calls: 1, 'MB/s': 0 }[unit];
  return `${value.toFixed(digits)} ${unit}`;
}

function cell(value: number | undefined): string {
  return value === undefined ? '-' : value.toFixed(1);
}
