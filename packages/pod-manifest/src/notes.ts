import type { ManifestDocument } from './documents.ts';
import type { FieldPath } from './validation/field.ts';

/** What is wrong, or odd, in a manifest, and where. */
export interface ManifestNote {
  /** Position of the document in the file, from 0. */
  readonly document: number;
  /** Such as `spec.containers[0].name`. */
  readonly field?: string;
  /** In the API server's words, without the field. */
  readonly message: string;
  /** From 1: the field's, or of the nearest part of the document above it. */
  readonly line?: number;
}

const MAX_NOTES = 50;
const MAX_MESSAGE_LENGTH = 1000;

/**
 * Collects the notes of one file. They go out as one message and are read by people: neither needs thousands of them, or
 * a whole file in one of them. So the first are kept, and the rest are counted.
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
