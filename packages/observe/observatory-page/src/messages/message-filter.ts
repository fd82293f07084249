import type { MessageKind } from '@kubus/contracts/observatory';

/** The filter of a recording's messages, as in the address of the view. */
export interface MessageFilter {
  readonly pod?: string | undefined;
  readonly type?: string | undefined;
  readonly source?: string | undefined;
  readonly kind?: MessageKind | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export const kinds: readonly MessageKind[] = ['fact', 'cmd', 'reply', 'event'];

export function filterOf(query: Readonly<Record<string, string>>): MessageFilter {
  const { pod, type, source, from, to } = query;
  return { pod, type, source, from, to, kind: kinds.find((kind) => kind === query['kind']) };
}

/** A key that is equal for equal filters: a list restarts when it changes. */
export function filterKey({ pod, type, source, kind, from, to }: MessageFilter): string {
  return JSON.stringify([pod, type, source, kind, from, to]);
}

export function isFiltered(filter: MessageFilter): boolean {
  return Object.values(filter).some((value) => value !== undefined);
}
