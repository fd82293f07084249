import type { MessagePage } from '@kubus/contracts/observatory';

/** A page of a paged list: where it starts in the recording and in the list. */
export interface KnownPage {
  /** Parameter `after`; undefined for the first page. */
  readonly after: number | undefined;
  /** Index of its first row. */
  readonly start: number;
  /** Missing until it has been read. */
  readonly rows?: number;
}

export const firstPage: readonly KnownPage[] = [{ after: undefined, start: 0 }];

/** Adds a loaded page: its length, and the start of the next one. */
export function withPage(
  pages: readonly KnownPage[],
  index: number,
  { messages, next }: MessagePage,
): readonly KnownPage[] {
  const page = pages[index];
  if (page === undefined) return pages;
  const following = pages[index + 1];
  if (page.rows === messages.length && (next === undefined) === (following === undefined)) return pages;
  const read = { ...page, rows: messages.length };
  // A page that has grown moves only the next page.
  const later = next === undefined ? [] : [{ after: next, start: page.start + messages.length }];
  return [...pages.slice(0, index), read, ...later];
}

/** Number of rows so far, plus one for the page that has not been read yet. */
export function rowsOf(pages: readonly KnownPage[]): number {
  const last = pages.at(-1);
  return last === undefined ? 0 : last.start + (last.rows ?? 1);
}

/** All pages have been read to the end. */
export function isWhole(pages: readonly KnownPage[]): boolean {
  return pages.at(-1)?.rows !== undefined;
}

/** Index of the page in which a row is. */
export function pageOfRow(pages: readonly KnownPage[], row: number): number {
  let low = 0;
  for (let high = pages.length - 1; low < high;) {
    const middle = (low + high + 1) >>> 1;
    if ((pages[middle]?.start ?? 0) <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Indexes of the pages needed for the visible rows: theirs, and the next one in advance. */
export function pagesInSight(pages: readonly KnownPage[], first: number, last: number, ahead: number): number[] {
  const from = pageOfRow(pages, first);
  const to = pageOfRow(pages, last + ahead);
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
