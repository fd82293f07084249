import { type ClaimLedger, claimCheckpoint, parseClaimCheckpoint } from '@kubus/dra';
import { readRegular, replaceRegular } from '@kubus/filesystem';
import { KubusError } from '@kubus/ports';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

/** More than any node's claims take. In bytes. */
const LARGEST = 16 * 1024 * 1024;

/** The reference kubelet's checkpoint of the claims of a node's pods, `dra_manager_state`. */
export class ClaimCheckpoint {
  readonly #path: string;
  /** Ends with the last write. */
  #written: Promise<void> = Promise.resolve();

  /** @param root the kubelet's root folder, which exists */
  constructor(root: string) {
    this.#path = join(root, 'dra_manager_state');
  }

  /**
   * What the file says; nothing when there is none.
   *
   * @throws KubusError for one that is damaged: nobody knows what drivers would have to undo
   */
  async read(): Promise<ClaimLedger> {
    const text = (await readRegular(this.#path, { limit: LARGEST }))?.toString();
    const ledger = text === undefined ? new Map() : parseClaimCheckpoint(text, crc32);
    if (!('problem' in ledger)) return ledger;
    const advice = 'drain the node and remove the file';
    throw new KubusError('bad-claim-state', `${this.#path}: ${ledger.problem}; ${advice}`);
  }

  /** Replaces the file by the newest ledger; it is on the disk when this resolves. */
  write(ledger: () => ClaimLedger): Promise<void> {
    const write = () => replaceRegular(this.#path, claimCheckpoint(ledger(), crc32), 0o600, { durable: true });
    this.#written = this.#written.then(write, write);
    return this.#written;
  }
}
