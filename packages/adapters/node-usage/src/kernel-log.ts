import { hasErrno } from '@kubus/ports';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** The longest record that the kernel gives out. */
const RECORD_BYTES = 8192;
/** How many records are read at once, so that a flood of them delays nothing else. */
const AT_ONCE = 2000;

/** The kernel's log, /dev/kmsg, read record by record without waiting for one. */
export class KernelLog {
  readonly #file: FileHandle;
  readonly #buffer = Buffer.alloc(RECORD_BYTES);

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Rejects with an error of Node.js where this process may not read it. */
  static async open(path = '/dev/kmsg'): Promise<KernelLog> {
    return new KernelLog(await open(path, constants.O_RDONLY | constants.O_NONBLOCK));
  }

  /** The records since the last call, the first ones since the boot; at most as many as are read at once. */
  async read(): Promise<string[]> {
    const records: string[] = [];
    while (records.length < AT_ONCE) {
      try {
        const { bytesRead } = await this.#file.read(this.#buffer, 0, RECORD_BYTES, null);
        if (bytesRead === 0) break;
        records.push(this.#buffer.toString('utf8', 0, bytesRead));
      } catch (error) {
        if (hasErrno(error, 'EAGAIN')) break;
        // The next one was overwritten before it was read: the oldest that is left follows.
        if (!hasErrno(error, 'EPIPE')) throw error;
      }
    }
    return records;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
