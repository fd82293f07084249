import type { ManifestDocument } from './documents.ts';
import type { FieldPath } from '../validation/field.ts';

/** An error or a warning about a manifest, with its position. */
export interface ManifestNote {
  /** Position of the document in the file, from 0. */
  readonly document: number;
  /** Such as `spec.containers[0].name`. */
  readonly field?: string;
  /** With the API server's text, without the field. */
  readonly message: string;
  /** The line of the field, from 1, or of its nearest existing parent. */
  readonly line?: number;
}

export const MAX_NOTES = 50;
const MAX_MESSAGE_LENGTH = 1000;

/**
 * Collects the notes of one file. They are published in one message and read by people, so there must not be thousands of them, or
 * a whole file in one of them. Therefore the first notes are kept, and the others are only counted.
 */
export class Notes {
  readonly #kept: ManifestNote[] = [];
  #more = 0;

  add(note: ManifestNote): void {
    if (this.#kept.length < MAX_NOTES) this.#kept.push({ ...note, message: shorten(note.message) });
    else this.#more++;
  }

  /** A note about a field of a document. */
  addField(document: ManifestDocument, path: FieldPath, message: string): void {
    if (this.#kept.length >= MAX_NOTES) {
      this.#more++;
      return;
    }
    const field = path.toString();
    const line = document.lineOf(path.segments);
    this.add({ document: document.index, ...(field !== '' && { field }), message, line });
  }

  /** In the order of the file. */
  list(): readonly ManifestNote[] {
    const sorted = this.#kept.toSorted((a, b) => a.document - b.document || (a.line ?? 0) - (b.line ?? 0));
    const last = sorted.at(-1);
    if (last === undefined || this.#more === 0) return sorted;
    return [...sorted, { document: last.document, message: `and ${this.#more} more` }];
  }
}

function shorten(message: string): string {
  return message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)}...` : message;
}
