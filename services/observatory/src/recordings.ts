import type { LiveTick, RecordingDocument } from '@kubus/observatory-api';
import { KubusError } from '@kubus/ports';
import type { Readable } from 'node:stream';

/** Something that was asked for can not be done: `status` is that of HTTP, the message is for people. */
export class RequestError extends KubusError {
  readonly status: 400 | 404 | 405 | 409 | 413 | 503;

  constructor(status: RequestError['status'], code: string, message: string, cause?: unknown) {
    super(code, message, { cause });
    this.status = status;
  }
}

/** The recordings that the API speaks of: those of a running node, or some files. */
export interface Recordings {
  /** The running node. */
  readonly node?: string;
  list(): Promise<RecordingDocument[]>;
  document(name: string): Promise<RecordingDocument>;
  /** Its file. Throws a RequestError when there is none of that name. */
  path(name: string): string;
  start(name: string): Promise<RecordingDocument>;
  stop(name: string): Promise<RecordingDocument>;
  remove(name: string): void;
  /** The recording as one file. */
  file(name: string): Promise<Readable>;
  take(name: string, file: Readable): Promise<RecordingDocument>;
  /** Tells at most twice a second what has come, until it is ended. */
  follow(listener: (tick: LiveTick) => void): () => void;
}
