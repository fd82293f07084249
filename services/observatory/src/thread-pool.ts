import { KubusError, toError } from '@kubus/ports';
import { Worker } from 'node:worker_threads';
import { type Question, type Reply, errorOf } from './thread-messages.ts';

/** A thread that has been idle for this long ends; milliseconds. */
const IDLE_MS = 30_000;
/** A question that needs more memory than this ends only its thread. */
const MAX_MIB = 512;

type Text = Uint8Array<ArrayBuffer>;

/** A few threads that share the questions; questions for which no thread is free wait in order. */
export class ThreadPool {
  readonly #free: RecordingThread[];
  readonly #threads: readonly RecordingThread[];
  readonly #waiting: ((thread: RecordingThread) => void)[] = [];

  constructor(threads: number) {
    this.#threads = Array.from({ length: threads }, () => new RecordingThread());
    this.#free = [...this.#threads];
  }

  async ask(question: Question): Promise<Text> {
    const thread = this.#free.shift() ?? (await new Promise<RecordingThread>((resolve) => this.#waiting.push(resolve)));
    try {
      return await thread.ask(question);
    } finally {
      const next = this.#waiting.shift();
      // The thread that was used last is used next, so that the others may end.
      if (next === undefined) this.#free.unshift(thread);
      else next(thread);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }
}

interface Asked {
  readonly resolve: (text: Text) => void;
  readonly reject: (error: Error) => void;
}

/** One thread, started when it is needed. It answers one question at a time. */
class RecordingThread {
  #worker: Worker | undefined;
  #asked: Asked | undefined;
  #idle: NodeJS.Timeout | undefined;
  /** Streams that are open in the thread; they end with it. */
  #streams = 0;

  async ask(question: Question): Promise<Text> {
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#start());
    worker.ref();
    if (question.do === 'open') this.#streams += 1;
    if (question.do === 'end') this.#streams -= 1;
    try {
      const { promise, resolve, reject } = Promise.withResolvers<Text>();
      this.#asked = { resolve, reject };
      worker.postMessage(question);
      return await promise;
    } finally {
      this.#asked = undefined;
      // An idle thread does not keep the process alive.
      worker.unref();
      if (this.#streams === 0) this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#left(new KubusError('thread-ended', 'the thread that reads recordings was closed'));
    await worker?.terminate();
  }

  #left(error: Error): void {
    this.#worker = undefined;
    this.#streams = 0;
    this.#asked?.reject(error);
  }

  #start(): Worker {
    const worker = new Worker(new URL('./recording-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MAX_MIB },
    });
    worker.on('message', (reply: Reply) => {
      if ('text' in reply) this.#asked?.resolve(reply.text);
      else this.#asked?.reject(errorOf(reply.failure));
    });
    const left = (error: Error) => {
      if (this.#worker === worker) this.#left(error);
    };
    worker.on('error', (error) => left(toError(error)));
    worker.on('exit', () =>
      left(new KubusError('thread-ended', 'the thread that reads recordings ended before its answer')),
    );
    return worker;
  }
}
