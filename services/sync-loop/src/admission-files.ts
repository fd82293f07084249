import { type AdmissionRecord, admissionRecordSchema } from '@kubus/admission';
import { encodeToken } from '@kubus/contracts';
import { type Logger, type RecordStore, toError } from '@kubus/ports';

/** The admission decisions on disk: written before they are published. */
export class AdmissionFiles {
  readonly #records: RecordStore;
  readonly #logger: Logger;
  readonly #saved: Map<string, AdmissionRecord>;
  /** Records that could not be written, to be retried. */
  readonly #unsaved = new Map<string, AdmissionRecord | undefined>();
  #error: string | undefined;

  /** Reads the records of earlier processes. One that cannot be parsed is left alone. */
  static async load(records: RecordStore, logger: Logger): Promise<AdmissionFiles> {
    const saved = new Map<string, AdmissionRecord>();
    for (const [key, value] of await records.load()) {
      const parsed = admissionRecordSchema.safeParse(value);
      if (parsed.success) saved.set(key, parsed.data);
      else {
        const wrong = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
        logger.error(
          { podUid: key, file: `${encodeToken(key)}.json`, wrong },
          'cannot parse the admission record of a pod',
        );
      }
    }
    return new AdmissionFiles(records, logger, saved);
  }

  private constructor(records: RecordStore, logger: Logger, saved: Map<string, AdmissionRecord>) {
    this.#records = records;
    this.#logger = logger;
    this.#saved = saved;
  }

  /** The records on disk. */
  get saved(): ReadonlyMap<string, AdmissionRecord> {
    return this.#saved;
  }

  /** Why the last write failed. */
  get error(): string | undefined {
    return this.#error;
  }

  /**
   * Writes a pod's record, or removes it. A folder that cannot be written must not keep pods from being started or
   * stopped: the failure is logged, and the write retried by {@link retry}.
   */
  async save(uid: string, record: AdmissionRecord | undefined): Promise<void> {
    if (this.#saved.get(uid) === record) return;
    try {
      if (record === undefined) {
        await this.#records.delete(uid);
        this.#saved.delete(uid);
      } else {
        await this.#records.put(uid, record);
        this.#saved.set(uid, record);
      }
      this.#unsaved.delete(uid);
      if (this.#unsaved.size === 0) this.#error = undefined;
    } catch (error) {
      this.#unsaved.set(uid, record);
      this.#error = toError(error).message;
      this.#logger.error({ podUid: uid, err: toError(error) }, 'cannot write the admission record of a pod');
    }
  }

  async retry(): Promise<void> {
    for (const [uid, record] of [...this.#unsaved]) await this.save(uid, record);
  }
}
