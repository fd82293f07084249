import type { ObjectVersion } from '@kubus/contracts';
import type { ContentFile, ContentSource } from './step.ts';

/** What one source of a volume gives: its files, why it gives none, or what has to be known first. */
export type SourceFiles =
  { readonly files: readonly PlannedFile[] } | { readonly refusal: string } | { readonly awaits: string };

/** A file of which the object is not numbered yet. */
export interface PlannedFile extends Omit<ContentFile, 'source'> {
  readonly source: Exclude<ContentSource, { kind: 'value' }> | { kind: 'value'; object: ObjectVersion; key: string };
}
