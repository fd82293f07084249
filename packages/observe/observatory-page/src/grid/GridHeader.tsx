import type { ReactNode } from 'react';
import type { Column } from './DataGrid.tsx';
import { type Sort, nextSort } from './sorting.ts';

interface Props<T> {
  readonly columns: readonly Column<T>[];
  readonly template: string;
  /** In pixels: the titles scroll with the rows. */
  readonly narrowest: number;
  readonly sort: Sort | undefined;
  readonly onSort: ((sort: Sort) => void) | undefined;
}

/** Titles of the columns; those that can be sorted by are buttons. */
export function GridHeader<T>({ columns, template, narrowest, sort, onSort }: Props<T>): ReactNode {
  return (
    <div role="rowgroup" className="grid-head" style={{ minWidth: narrowest }}>
      <div role="row" aria-rowindex={1} className="grid-titles" style={{ gridTemplateColumns: template }}>
        {columns.map(({ id, title, align, hint, value, descendingFirst = false }) => {
          const direction = sort?.column !== id ? 'none' : sort.descending ? 'descending' : 'ascending';
          const mark = direction === 'none' ? '' : direction === 'ascending' ? ' ▲' : ' ▼';
          const sortable = value !== undefined && onSort !== undefined;
          return (
            <div
              key={id}
              role="columnheader"
              title={hint}
              aria-sort={sortable ? direction : undefined}
              className={align === 'right' ? 'cell cell-right' : 'cell'}
            >
              {sortable ? (
                <button type="button" onClick={() => onSort(nextSort(sort, id, descendingFirst))}>
                  {title}
                  <span aria-hidden="true">{mark}</span>
                </button>
              ) : (
                title
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}
