import { type AdmissionRecord, admissionRecordSchema } from '@kubus/admission';
import { encodeToken } from '@kubus/contracts';
import { type Logger, type RecordStore, toError } from '@kubus/ports';

/** What was decided about pods, on disk: written before anybody is told of it. */
export class AdmissionFiles {
  readonly #records: RecordStore;
  readonly #logger: Logger;
  readonly #saved: Map<string, AdmissionRecord>;
  /** What could not be written, to be tried again. */
  readonly #unsaved = new Map<string, AdmissionRecord | undefined>();
  #error: string | undefined;

  /** Reads what earlier lives have written down. A record that is not understood is left alone. */
  static async load(records: RecordStore, logger: Logger): Promise<AdmissionFiles> {
    const saved = new Map<string, AdmissionRecord>();
    for (const [key, value] of await records.load()) {
      const parsed = admissionRecordSchema.safeParse(value);
      if (parsed.success) saved.set(key, parsed.data);
      else {
        const wrong = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
        logger.error(
          { podUid: key, file: `${encodeToken(key)}.json`, wrong },
          'the record of a pod’s admission is not understood',
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

  /** What lies on the disk. */
  get saved(): ReadonlyMap<string, AdmissionRecord> {
    return this.#saved;
  }

  /** Why a record could not be written the last time. */
  get error(): string | undefined {
    return this.#error;
  }

  /**
   * Writes a pod's record, or removes it. A folder that can not be written must not keep pods from being started or ended:
   * what would be lost is told, and tried again by {@link retry}.
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
      this.#logger.error({ podUid: uid, err: toError(error) }, 'the record of a pod’s admission could not be written');
    }
  }

  async retry(): Promise<void> {
    for (const [uid, record] of [...this.#unsaved]) await this.save(uid, record);
  }
}
