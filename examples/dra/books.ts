import { open, readFile, rename } from 'node:fs/promises';
import type { Device } from '@kubus/proto/dra-grpc';
import * as z from 'zod';

const booksSchema = z.object({
  /** How often a claim was prepared that was not prepared before, and the other way round. */
  counts: z.object({ prepared: z.int(), unprepared: z.int() }),
  claims: z.record(
    z.string(),
    z.array(
      z.object({
        requestNames: z.array(z.string()),
        poolName: z.string(),
        deviceName: z.string(),
        cdiDeviceIds: z.array(z.string()),
      }),
    ),
  ),
});

type Content = z.infer<typeof booksSchema>;

/** What a driver has prepared, on the disk before it answers: a process that was killed knows it again. */
export class Books {
  readonly #path: string;
  #content: Content;

  static async open(path: string): Promise<Books> {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    });
    const empty = { counts: { prepared: 0, unprepared: 0 }, claims: {} };
    return new Books(path, text === undefined ? empty : booksSchema.parse(JSON.parse(text)));
  }

  private constructor(path: string, content: Content) {
    this.#path = path;
    this.#content = content;
  }

  devicesOf(uid: string): Device[] | undefined {
    return this.#content.claims[uid]?.map((device) => ({ ...device, shareId: undefined }));
  }

  async prepared(uid: string, devices: readonly Device[]): Promise<void> {
    const { counts, claims } = this.#content;
    const list = devices.map(({ shareId: _, ...device }) => device);
    await this.#write({ counts: { ...counts, prepared: counts.prepared + 1 }, claims: { ...claims, [uid]: list } });
  }

  async unprepared(uid: string): Promise<void> {
    const { [uid]: known, ...claims } = this.#content.claims;
    if (known === undefined) return;
    const { counts } = this.#content;
    await this.#write({ counts: { ...counts, unprepared: counts.unprepared + 1 }, claims });
  }

  async #write(content: Content): Promise<void> {
    const beside = `${this.#path}.new`;
    const file = await open(beside, 'w', 0o600);
    await file.writeFile(JSON.stringify(content));
    await file.sync();
    await file.close();
    await rename(beside, this.#path);
    this.#content = content;
  }
}
