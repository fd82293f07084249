import type { MessagePage } from '@kubus/observatory-api';

/** A page of a list that is read page by page: where it begins in the recording and in the list. */
export interface KnownPage {
  /** Parameter `after`; undefined for the first page. */
  readonly after: number | undefined;
  /** Index of its first row. */
  readonly start: number;
  /** Missing while it has not been read. */
  readonly rows?: number;
}

export const firstPage: readonly KnownPage[] = [{ after: undefined, start: 0 }];

/** What is known after a page has come: how long it is, and where the next one begins. */
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
  // A page that has grown moves nothing but the one that is to come.
  const later = next === undefined ? [] : [{ after: next, start: page.start + messages.length }];
  return [...pages.slice(0, index), read, ...later];
}

/** Rows so far; one more stands for the page that is still to be read. */
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

/** Indexes of the pages to have while some rows are in sight: theirs, and the next one before it is reached. */
export function pagesInSight(pages: readonly KnownPage[], first: number, last: number, ahead: number): number[] {
  const from = pageOfRow(pages, first);
  const to = pageOfRow(pages, last + ahead);
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
