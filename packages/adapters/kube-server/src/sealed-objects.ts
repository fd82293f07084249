import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KubeObject } from '@kubus/kube-objects';
import { StoreError } from './store-error.ts';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** The key's length. */
export const KEY_BYTES = 32;
/** The kinds whose content is encrypted, by their tables. */
const SEALED: readonly string[] = ['secrets'];

/** How objects are written: as JSON; Secrets are encrypted with a key that is not in the same file (as KEP-3299 has it for etcd). */
export class SealedObjects {
  readonly #key: Buffer;

  /** @param key {@link KEY_BYTES} bytes. */
  constructor(key: Buffer) {
    this.#key = key;
  }

  close(resource: string, object: KubeObject): Uint8Array {
    const text = Buffer.from(JSON.stringify(object));
    if (!SEALED.includes(resource)) return text;
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, iv);
    const box = Buffer.concat([cipher.update(text), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), box]);
  }

  /** @throws StoreError `WrongKey`. */
  open(resource: string, bytes: Uint8Array): KubeObject {
    if (!SEALED.includes(resource)) return JSON.parse(Buffer.from(bytes).toString()) as KubeObject;
    const tagEnd = IV_BYTES + TAG_BYTES;
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAuthTag(bytes.subarray(IV_BYTES, tagEnd));
      const text = Buffer.concat([decipher.update(bytes.subarray(tagEnd)), decipher.final()]);
      return JSON.parse(text.toString()) as KubeObject;
    } catch (cause) {
      throw new StoreError('WrongKey', `an object of ${resource} was encrypted with another key`, { cause });
    }
  }
}
