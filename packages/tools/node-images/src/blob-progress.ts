import { Client, Metadata, credentials } from '@grpc/grpc-js';
import { ContentService } from '@kubus/proto/containerd-content';

/** How much of a blob has arrived, in bytes. */
export interface BlobStatus {
  readonly ref: string;
  readonly offset: number;
  /** 0: unknown. */
  readonly total: number;
}

/** Lists the blobs that a containerd is fetching in the namespace of CRI. */
export class BlobStatuses {
  readonly #client: Client;
  readonly #metadata = new Metadata();

  /** @param socket absolute path of containerd's socket */
  constructor(socket: string) {
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure());
    this.#metadata.set('containerd-namespace', 'k8s.io');
  }

  /** Throws the gRPC error (`ServiceError`). */
  async list(): Promise<BlobStatus[]> {
    const { path, requestSerialize, responseDeserialize } = ContentService.listStatuses;
    const { statuses } = await new Promise<ReturnType<typeof responseDeserialize>>((resolve, reject) => {
      this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        { filters: [] },
        this.#metadata,
        (error, response) => {
          if (error !== null || response === undefined) reject(error ?? new Error('no answer'));
          else resolve(response);
        },
      );
    });
    return statuses.map(({ ref, offset, total }) => ({ ref, offset: Number(offset), total: Number(total) }));
  }

  close(): void {
    this.#client.close();
  }
}

/** Adds up the blobs of a pull. A blob that is not listed any more has arrived as a whole. */
export class BlobProgress {
  readonly #blobs = new Map<string, BlobStatus>();

  /** @param listed what is being fetched now */
  update(listed: readonly BlobStatus[]): { arrived: number; total: number } {
    const refs = new Set(listed.map(({ ref }) => ref));
    for (const [ref, { total }] of this.#blobs) {
      if (!refs.has(ref)) this.#blobs.set(ref, { ref, offset: total, total });
    }
    for (const blob of listed) this.#blobs.set(blob.ref, blob);
    const blobs = [...this.#blobs.values()];
    const sum = (of: (blob: BlobStatus) => number) => blobs.reduce((before, blob) => before + of(blob), 0);
    return { arrived: sum(({ offset }) => offset), total: sum(({ offset, total }) => Math.max(offset, total)) };
  }
}
