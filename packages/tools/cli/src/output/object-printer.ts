import { customRow } from '../query/custom-columns.ts';
import { renderTemplate } from '../query/json-path-values.ts';
import type { Item, ResourceType } from '../resources/resource-type.ts';
import type { ObjectFormat } from './object-format.ts';
import { formatTable, padRow } from './table.ts';

/** How a list of objects is printed. */
export interface PrinterOptions {
  /** Undefined: the usual table. */
  readonly format: ObjectFormat | undefined;
  /** With the column NAMESPACE. */
  readonly withNamespace: boolean;
  readonly withLabels?: boolean;
  readonly withoutHeader?: boolean;
  /** With the type before each name: `pod/web`. */
  readonly withType?: boolean;
}

/** Whether objects are printed as rows of a table. */
export function isTable(format: ObjectFormat | undefined): boolean {
  return format === undefined || format.kind === 'wide' || format.kind === 'custom-columns';
}

/** The line of `-o name`. */
export function nameLine({ singular }: Pick<ResourceType, 'singular'>, { object }: Item): string {
  return `${singular}/${object.metadata.name}`;
}

/** What `-o jsonpath`, `-o json` and `-o yaml` print: the one object that was named, or a list. */
export function documentOf(items: readonly Item[], isOne: boolean): unknown {
  const objects = items.map(({ object }) => object);
  return isOne ? objects[0] : { apiVersion: 'v1', kind: 'List', items: objects };
}

/** The text of `-o jsonpath`, without a line end that the template does not contain. */
export function jsonPathText(format: Extract<ObjectFormat, { kind: 'jsonpath' }>, document: unknown): string {
  return renderTemplate(format.template, document);
}

/** Rows of objects with kubectl's columns, or with those of `-o custom-columns`. */
export class ObjectTable {
  readonly #type: ResourceType;
  readonly #options: PrinterOptions;
  readonly #widths: number[] = [];

  constructor(type: ResourceType, options: PrinterOptions) {
    this.#type = type;
    this.#options = options;
  }

  /** The whole table. Later rows have the same widths. @param now milliseconds since the Unix epoch */
  table(items: readonly Item[], now: number): string {
    const header = this.header;
    const rows = items.map((item) => this.#row(item, now));
    for (const [index, title] of header.entries()) {
      this.#widths[index] = Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0));
    }
    const lines = formatTable(header, rows);
    return this.#options.withoutHeader === true ? lines.split('\n').slice(1).join('\n') : lines;
  }

  /** One more row. */
  line(item: Item, now: number): string {
    return padRow(this.#row(item, now), this.#widths);
  }

  /** The cells that do not change with time alone, as one text. */
  fixed(item: Item): string {
    const { format } = this.#options;
    if (format?.kind === 'custom-columns') return this.#row(item, 0).join(' ');
    const cells = item.cells(0).filter((_, index) => this.#type.columns[index]?.isAge !== true);
    return cells.map((cell) => cell.replace(/ \(\S+ ago\)/, '')).join(' ');
  }

  get header(): string[] {
    const { format, withNamespace, withLabels } = this.#options;
    if (format?.kind === 'custom-columns') return format.columns.map(({ title }) => title);
    return [
      ...(withNamespace ? ['NAMESPACE'] : []),
      ...this.#shown(this.#type.columns.map(({ title }) => title)),
      ...(withLabels === true ? ['LABELS'] : []),
    ];
  }

  #row(item: Item, now: number): string[] {
    const { format, withNamespace, withLabels } = this.#options;
    if (format?.kind === 'custom-columns') return customRow(format.columns, item.object);
    const { namespace = '', labels = {} } = item.object.metadata;
    const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
    return [
      ...(withNamespace ? [namespace] : []),
      ...this.#shown(this.#cells(item, now)),
      ...(withLabels === true ? [pairs.join(',') || '<none>'] : []),
    ];
  }

  #cells(item: Item, now: number): readonly string[] {
    const { columns, singular } = this.#type;
    const cells = item.cells(now);
    if (this.#options.withType !== true) return cells;
    return cells.map((cell, index) => (columns[index]?.isName === true ? `${singular}/${cell}` : cell));
  }

  #shown(cells: readonly string[]): string[] {
    const isWide = this.#options.format?.kind === 'wide';
    return cells.filter((_, index) => isWide || this.#type.columns[index]?.isWide !== true);
  }
}
