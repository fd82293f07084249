import { useMemo, useState } from 'react';
import type { Column } from './DataGrid.tsx';
import { type Sort, compareValues } from './sorting.ts';

/** Rows in the order of the chosen column. */
export function useSorted<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  initial?: Sort,
): { sorted: readonly T[]; sort: Sort | undefined; setSort: (sort: Sort) => void } {
  const [sort, setSort] = useState(initial);
  const sorted = useMemo(() => {
    const value = columns.find(({ id }) => id === sort?.column)?.value;
    if (sort === undefined || value === undefined) return rows;
    return rows.toSorted((a, b) => compareValues(value(a), value(b), sort.descending));
  }, [rows, columns, sort]);
  return { sorted, sort, setSort };
}
