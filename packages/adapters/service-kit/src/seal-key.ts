import type { SealedText } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import { createCurve } from '@nats-io/nkeys';

/**
 * The key of one process for texts that only their reader may know, although they are in a message: a curve key of NATS (X25519 with
 * XSalsa20-Poly1305, "xkey"). It is never stored, so nobody can open a recorded text.
 */
export class SealKey {
  readonly #key = createCurve();

  /** The name under which others seal a text for this process: `X...`, 56 characters. */
  get publicKey(): string {
    return this.#key.getPublicKey();
  }

  /**
   * @param reader the reader's public key
   * @throws KubusError `bad-key` when that is none.
   */
  seal(text: string, reader: string): SealedText {
    try {
      const box = this.#key.seal(new TextEncoder().encode(text), reader);
      return { by: this.publicKey, box: Buffer.from(box).toString('base64') };
    } catch (cause) {
      throw new KubusError('bad-key', 'a text cannot be sealed for this key', { cause });
    }
  }

  /** @throws KubusError `not-opened` when the text was sealed for another key, or has been changed. */
  open({ by, box }: SealedText): string {
    let text: Uint8Array | null;
    try {
      text = this.#key.open(Buffer.from(box, 'base64'), by);
    } catch (cause) {
      throw new KubusError('not-opened', 'a sealed text has a sender that is no key', { cause });
    }
    if (text === null) throw new KubusError('not-opened', 'a text was sealed for another reader, or was changed');
    return new TextDecoder().decode(text);
  }
}
