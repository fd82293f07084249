import { Readable } from 'node:stream';
import { ThreadPool } from './thread-pool.ts';
import type { AnalysisTask, LongTask, ShortTask, TraceTask } from './tasks.ts';

/** How many long tasks run at the same time; further ones wait. */
const LONG_AT_ONCE = 3;
/** How many bytes of answers are cached. */
const KEPT_BYTES = 16 * 2 ** 20;

/** A document as JSON. */
export type Text = Uint8Array<ArrayBuffer>;

interface Kept {
  readonly version: string;
  readonly text: Text;
}

/**
 * Reads recordings outside the main thread, which has to record. Short tasks never wait for long ones: each kind has
 * its own threads, which open a recording for one question only, or for one piece of a stream.
 */
export class Threads {
  readonly #short = new ThreadPool(1);
  readonly #long = new ThreadPool(LONG_AT_ONCE);
  /** Keyed by question, the most recent one last. */
  readonly #kept = new Map<string, Kept>();
  #streams = 0;

  short(task: ShortTask): Promise<Text> {
    return this.#short.ask(task);
  }

  long(task: LongTask): Promise<Text> {
    return this.#long.ask(task);
  }

  /** Like {@link Threads.long} for one recording; the cached answer is used while the recording has not changed. */
  async again(task: AnalysisTask): Promise<Text> {
    const key = JSON.stringify(task);
    const version = documentOf<string>(await this.short({ do: 'version', file: task.file }));
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    const text = kept?.version === version ? kept.text : await this.long(task);
    this.#keep(key, { version, text });
    return text;
  }

  /** Pieces are produced on request, each as a short task. */
  trace(trace: TraceTask): Readable {
    const stream = ++this.#streams;
    const pool = this.#short;
    const pieces = async function* () {
      await pool.ask({ do: 'open', stream, trace });
      try {
        for (;;) {
          const text = await pool.ask({ do: 'next', stream });
          if (text.length === 0) return;
          yield bytesOf(text);
        }
      } finally {
        await pool.ask({ do: 'end', stream });
      }
    };
    return Readable.from(pieces(), { objectMode: false });
  }

  async close(): Promise<void> {
    await Promise.all([this.#short.close(), this.#long.close()]);
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.set(key, kept);
    let bytes = [...this.#kept.values()].reduce((sum, { text }) => sum + text.length, 0);
    for (const [oldest, { text }] of this.#kept) {
      if (bytes <= KEPT_BYTES) return;
      this.#kept.delete(oldest);
      bytes -= text.length;
    }
  }
}

export function bytesOf(text: Text): Buffer {
  return Buffer.from(text.buffer, text.byteOffset, text.byteLength);
}

export function documentOf<Document>(text: Text): Document {
  return JSON.parse(bytesOf(text).toString()) as Document;
}
