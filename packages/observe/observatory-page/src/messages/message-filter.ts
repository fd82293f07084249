import type { DensityDocument, MessageKind } from '@kubus/contracts/observatory';
import { messagesIn } from '../overview/density-layout.ts';

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

/** About how many messages match, as far as their numbers over time tell; undefined where they do not. */
export function expectedMessages(filter: MessageFilter, density: DensityDocument | undefined): number | undefined {
  const { pod, type, kind, source, from, to } = filter;
  if (density === undefined || pod !== undefined || type !== undefined || kind !== undefined) return undefined;
  const services = density.services.filter(({ service }) => source === undefined || service === source);
  // A source can be one instance of a service, which has no numbers of its own.
  if (source !== undefined && services.length === 0) return undefined;
  const range = { from: Number(from ?? density.from), to: Number(to ?? density.to) };
  return messagesIn({ ...density, services }, range);
}
