import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** A request of the helper; see native/mount-helper.c. */
export type HelperRequest =
  | {
      readonly what: 'mount';
      readonly source: string;
      readonly target: string;
      readonly type: string;
      /** Of mount(2). */
      readonly flags: number;
      readonly data: string;
    }
  | { readonly what: 'readonly' | 'unmount'; readonly target: string };

/** How it ended; `failed`: nothing was done, and a program may say why. `lost`: the helper has ended, and it is unknown whether it was done. */
export type HelperOutcome = 'done' | 'failed' | 'timed-out' | 'lost';

type Helper = ChildProcessByStdio<Writable, Readable, null>;

/** A native program that stays and makes mounts, in place of a program for each of them; started when it is needed. */
export class MountHelper {
  readonly #program: string;
  #child: Helper | undefined;
  #ids = 0;
  readonly #waiting = new Map<string, (outcome: HelperOutcome) => void>();

  /** @param program the compiled native/mount-helper.c */
  constructor(program: string) {
    this.#program = program;
  }

  /** @param limitMs then it is not awaited any more */
  run(request: HelperRequest, limitMs: number): Promise<HelperOutcome> {
    return new Promise((resolve) => {
      const id = String(++this.#ids);
      const end = (outcome: HelperOutcome) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(outcome);
      };
      const timer = setTimeout(() => end('timed-out'), limitMs);
      this.#waiting.set(id, end);
      (this.#child ??= this.#start()).stdin.write(encode(id, request));
    });
  }

  #start(): Helper {
    const child = spawn(this.#program, { stdio: ['pipe', 'pipe', 'ignore'] });
    // It ends with this process, which does not wait for it; a request's timer does.
    child.unref();
    for (const stream of [child.stdin, child.stdout]) (stream as { unref?: () => void }).unref?.();
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      const lines = (text + part).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const [id = '', error] = line.split(' ');
        this.#waiting.get(id)?.(error === '0' ? 'done' : 'failed');
      }
    });
    const ended = (outcome: HelperOutcome) => {
      if (this.#child !== child) return;
      this.#child = undefined;
      for (const end of [...this.#waiting.values()]) end(outcome);
    };
    child.once('error', () => ended('failed'));
    child.once('close', () => ended('lost'));
    child.stdin.on('error', () => undefined);
    return child;
  }
}

function encode(id: string, request: HelperRequest): Buffer {
  const { what, target } = request;
  const mount = request.what === 'mount' ? request : { source: '-', type: '-', flags: '-', data: '-' };
  const fields = [id, what, mount.source, target, mount.type, String(mount.flags), mount.data];
  const text = Buffer.from(fields.map((field) => `${field}\0`).join(''));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text]);
}
