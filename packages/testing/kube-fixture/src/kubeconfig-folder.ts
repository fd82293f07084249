import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of this process for kubeconfig files, which are readable by their owner alone. */
export class KubeconfigFolder {
  readonly #folder: string;
  #count = 0;

  static async make(): Promise<KubeconfigFolder> {
    return new KubeconfigFolder(await mkdtemp(join(tmpdir(), 'kubus-kubeconfig-')));
  }

  private constructor(folder: string) {
    this.#folder = folder;
  }

  async write(text: string): Promise<string> {
    const path = join(this.#folder, `${++this.#count}.kubeconfig`);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
