export interface Sort {
  readonly column: string;
  readonly descending: boolean;
}

/** Compares values of columns: missing ones last in both directions, texts in natural order. */
export function compareValues(
  a: string | number | undefined,
  b: string | number | undefined,
  descending: boolean,
): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  const order =
    typeof a === 'number' && typeof b === 'number'
      ? a - b
      : String(a).localeCompare(String(b), 'en', { numeric: true });
  return descending ? -order : order;
}

/** A sort in an address: `-start` is by `start`, descending. Undefined for none, or one by an unknown column. */
export function parseSort(text: string | undefined, columns: readonly { readonly id: string }[]): Sort | undefined {
  const descending = text?.startsWith('-') === true;
  const column = columns.find(({ id }) => id === text?.slice(Number(descending)));
  return column && { column: column.id, descending };
}

export function formatSort({ column, descending }: Sort): string {
  return `${descending ? '-' : ''}${column}`;
}

/** The other direction of the same column; a new column starts with its own. */
export function nextSort(sort: Sort | undefined, column: string, descendingFirst: boolean): Sort {
  if (sort?.column !== column) return { column, descending: descendingFirst };
  return { column, descending: !sort.descending };
}

/** The row to which a key moves in a list; undefined if it does not move. */
export function rowAfterKey(key: string, row: number, rows: number, page: number): number | undefined {
  const moves: Readonly<Record<string, number>> = {
    ArrowDown: row + 1,
    j: row + 1,
    ArrowUp: row - 1,
    k: row - 1,
    PageDown: row + page,
    PageUp: row - page,
    Home: 0,
    End: rows - 1,
  };
  const to = moves[key];
  return to === undefined || rows === 0 ? undefined : Math.max(0, Math.min(rows - 1, to));
}
