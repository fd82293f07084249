import type { MessageKind } from '@kubus/observatory-api';

/** What of a recording's messages is looked at; as in the address of the view. */
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

/** The same for equal filters: a list begins anew when it changes. */
export function filterKey({ pod, type, source, kind, from, to }: MessageFilter): string {
  return JSON.stringify([pod, type, source, kind, from, to]);
}

export function isFiltered(filter: MessageFilter): boolean {
  return Object.values(filter).some((value) => value !== undefined);
}
