import { useMemo } from 'react';
import { goQuery, useRoute } from '../route/use-route.ts';
import type { Column } from './DataGrid.tsx';
import { type Sort, compareValues, formatSort, parseSort } from './sorting.ts';

/** Rows in the order of the chosen column, which is in the address: `parameter` is its name there. */
export function useSorted<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  parameter: string,
  initial?: Sort,
): { sorted: readonly T[]; sort: Sort | undefined; setSort: (sort: Sort) => void } {
  const route = useRoute();
  const chosen = route.query[parameter];
  const sort = useMemo(() => parseSort(chosen, columns) ?? initial, [chosen, columns, initial]);
  const sorted = useMemo(() => {
    const value = columns.find(({ id }) => id === sort?.column)?.value;
    if (sort === undefined || value === undefined) return rows;
    return rows.toSorted((a, b) => compareValues(value(a), value(b), sort.descending));
  }, [rows, columns, sort]);
  return { sorted, sort, setSort: (next) => goQuery(route, { [parameter]: formatSort(next) }) };
}
