import type { ObjectVersion } from '@kubus/contracts';
import type { ContentFile, ContentSource } from './step.ts';

/** The result of one source of a volume: its files, why it has none, or what has to be known first. */
export type SourceFiles =
  { readonly files: readonly PlannedFile[] } | { readonly refusal: string } | { readonly awaits: string };

/** A file whose object has no index yet. */
export interface PlannedFile extends Omit<ContentFile, 'source'> {
  readonly source: Exclude<ContentSource, { kind: 'value' }> | { kind: 'value'; object: ObjectVersion; key: string };
}
