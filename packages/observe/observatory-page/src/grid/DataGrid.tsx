import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { GridHeader } from './GridHeader.tsx';
import { type Sort, rowAfterKey } from './sorting.ts';
import { narrowestOf } from './tracks.ts';
import './grid.css';

export interface Column<T> {
  readonly id: string;
  readonly title: string;
  /** Track of the CSS grid. */
  readonly width: string;
  readonly align?: 'right';
  /** A description, shown as the tooltip of the title. */
  readonly hint?: string;
  readonly cell: (row: T) => ReactNode;
  /** The value it is sorted by; absent if it cannot be sorted. */
  readonly value?: (row: T) => string | number | undefined;
  readonly descendingFirst?: boolean;
}

interface Props<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly count: number;
  /** Undefined while a row is still being read. */
  readonly rowAt: (index: number) => T | undefined;
  readonly keyOf: (row: T) => string;
  /** Key of the row that is open elsewhere on the page. */
  readonly selected?: string | undefined;
  readonly onOpen?: ((row: T) => void) | undefined;
  readonly sort?: Sort | undefined;
  readonly onSort?: (sort: Sort) => void;
  /** Called with the visible rows, so that they can be loaded. */
  readonly onSight?: (first: number, last: number) => void;
  /** More rows are being read. */
  readonly busy?: boolean;
  /** Shown instead of rows if there are none: why, and what to do. */
  readonly empty: ReactNode;
}

const rowHeight = 26;

/** A list of any length with columns: only visible rows are rendered. Arrow keys move, Enter opens. */
export function DataGrid<T>(props: Props<T>): ReactNode {
  const { columns, count, rowAt, keyOf, onOpen, onSight } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const [focused, setFocused] = useState(false);
  const id = useId();
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 6,
    scrollPaddingStart: rowHeight + 4,
  });
  const items = virtualizer.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  const current = Math.min(active, count - 1);
  useEffect(() => onSight?.(first, last), [onSight, first, last]);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 2);
    const to = rowAfterKey(event.key, current, count, page);
    if (to !== undefined) {
      event.preventDefault();
      setActive(to);
      virtualizer.scrollToIndex(to);
    }
    const row = rowAt(current);
    if (event.key === 'Enter' && row !== undefined) onOpen?.(row);
  };

  const template = columns.map(({ width }) => width).join(' ');
  const narrowest = narrowestOf(columns.map(({ width }) => width));
  const rowId = (index: number): string => `${id}-${index}`;
  const activeInSight = focused && count > 0 && current >= first && current <= last;
  return (
    <div
      ref={scroller}
      className={onOpen === undefined ? 'grid' : 'grid grid-opens'}
      role="grid"
      aria-label={props.label}
      aria-busy={props.busy}
      aria-rowcount={count + 1}
      aria-colcount={columns.length}
      aria-activedescendant={activeInSight ? rowId(current) : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onFocus={() => setFocused(true)}
      onBlur={() => setFocused(false)}
    >
      <GridHeader columns={columns} template={template} narrowest={narrowest} sort={props.sort} onSort={props.onSort} />
      {count === 0 ? <EmptyRows columns={columns.length}>{props.empty}</EmptyRows> : null}
      <div role="rowgroup" className="grid-rows" style={{ height: virtualizer.getTotalSize(), minWidth: narrowest }}>
        {items.map(({ index, start }) => {
          const row = rowAt(index);
          const selected = row !== undefined && props.selected !== undefined && keyOf(row) === props.selected;
          return (
            <div
              // A row that comes into sight takes over the elements of one that left: making them is what scrolling costs.
              key={index % items.length}
              id={rowId(index)}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={selected}
              className={focused && index === current ? 'grid-row grid-row-active' : 'grid-row'}
              style={{ gridTemplateColumns: template, transform: `translateY(${start}px)` }}
              onClick={() => {
                setActive(index);
                if (row !== undefined) onOpen?.(row);
              }}
            >
              {columns.map((column) => (
                <div key={column.id} role="gridcell" className={column.align === 'right' ? 'cell cell-right' : 'cell'}>
                  {row === undefined ? <span className="cell-waits">…</span> : column.cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function EmptyRows({ columns, children }: { readonly columns: number; readonly children: ReactNode }): ReactNode {
  return (
    <div role="rowgroup">
      <div role="row">
        <div role="gridcell" aria-colspan={columns} className="grid-empty">
          {children}
        </div>
      </div>
    </div>
  );
}
