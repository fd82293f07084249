import { Readable } from 'node:stream';
import { Lane } from './lane.ts';
import type { AnalysisTask, LongTask, ShortTask, TraceTask } from './tasks.ts';

/** Long tasks that run at the same time; more wait for them. */
const LONG_AT_ONCE = 3;
/** Bytes of answers that are kept. */
const KEPT_BYTES = 16 * 2 ** 20;

/** A document as JSON. */
export type Text = Uint8Array<ArrayBuffer>;

interface Kept {
  readonly version: string;
  readonly text: Text;
}

/**
 * Reads recordings beside the main thread, which has to record. What is short never waits for what is long: each has threads
 * of its own, which open a recording for one question alone, or for one piece of a stream.
 */
export class Threads {
  readonly #short = new Lane(1);
  readonly #long = new Lane(LONG_AT_ONCE);
  /** By question, the one that was asked last at the end. */
  readonly #kept = new Map<string, Kept>();
  #streams = 0;

  short(task: ShortTask): Promise<Text> {
    return this.#short.ask(task);
  }

  long(task: LongTask): Promise<Text> {
    return this.#long.ask(task);
  }

  /** The same as {@link Threads.long} of one recording; the answer of before where the recording is as it was then. */
  async again(task: AnalysisTask): Promise<Text> {
    const key = JSON.stringify(task);
    const version = documentOf<string>(await this.short({ do: 'version', file: task.file }));
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    const text = kept?.version === version ? kept.text : await this.long(task);
    this.#keep(key, { version, text });
    return text;
  }

  /** Pieces are made when they are asked for, each as a short task. */
  trace(trace: TraceTask): Readable {
    const stream = ++this.#streams;
    const lane = this.#short;
    const pieces = async function* () {
      await lane.ask({ do: 'open', stream, trace });
      try {
        for (;;) {
          const text = await lane.ask({ do: 'next', stream });
          if (text.length === 0) return;
          yield bytesOf(text);
        }
      } finally {
        await lane.ask({ do: 'end', stream });
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
