import type { LiveTick, RecordingDocument } from '@kubus/contracts/observatory';
import { KubusError } from '@kubus/ports';
import type { Readable } from 'node:stream';

/** Thrown when a request cannot be fulfilled: `status` is the HTTP status, the message is for people. */
export class RequestError extends KubusError {
  readonly status: 400 | 404 | 405 | 409 | 413 | 503 | 507;

  constructor(status: RequestError['status'], code: string, message: string, cause?: unknown) {
    super(code, message, { cause });
    this.status = status;
  }
}

/** The recordings that the API serves: those of a running node, or some files. */
export interface Recordings {
  /** The running node. */
  readonly node?: string;
  list(): Promise<RecordingDocument[]>;
  document(name: string): Promise<RecordingDocument>;
  /** The file of a recording. Throws a RequestError when no recording has that name. */
  path(name: string): string;
  start(name: string): Promise<RecordingDocument>;
  stop(name: string): Promise<RecordingDocument>;
  remove(name: string): void;
  /** The recording as one file. */
  file(name: string): Promise<Readable>;
  take(name: string, file: Readable): Promise<RecordingDocument>;
  /** Sends ticks about new messages at most twice a second, until it is stopped. */
  follow(listener: (tick: LiveTick) => void): () => void;
}
