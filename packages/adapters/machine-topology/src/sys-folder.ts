import { type CpuSet, parseCpuSet } from '@kubus/exclusive';
import { readFile } from 'node:fs/promises';
import { ignoring } from '@kubus/ports';
import { join } from 'node:path';
import { MachineError } from './machine-error.ts';

const NO_VALUE = ['ENOENT', 'ENOTDIR', 'ENODEV', 'EIO'];

/** A folder in which the kernel shows a value per file. */
export class SysFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  below(name: string): SysFolder {
    return new SysFolder(join(this.path, name));
  }

  /** Undefined: there is no such file, or the kernel has no value for it. */
  async text(name: string): Promise<string | undefined> {
    const text = await ignoring(NO_VALUE, readFile(join(this.path, name), 'utf8'));
    return text?.trim();
  }

  /** @throws MachineError when it is not a list of CPUs, or is missing and `otherwise` is not given */
  async cpus(name: string, otherwise?: string): Promise<CpuSet> {
    const text = (await this.text(name)) ?? otherwise;
    const found = text === undefined ? undefined : parseCpuSet(text);
    if (found !== undefined) return found;
    throw new MachineError('bad-file', `${join(this.path, name)}: ${problem(text)}`);
  }

  /** @throws MachineError when it is not a whole number */
  async number(name: string, otherwise: number): Promise<number> {
    const text = (await this.text(name)) ?? String(otherwise);
    if (/^-?\d+$/.test(text)) return Number(text);
    throw new MachineError('bad-file', `${join(this.path, name)}: not a number: ${text.slice(0, 40)}`);
  }
}

function problem(text: string | undefined): string {
  return text === undefined ? 'missing' : `not a list such as 0-3,8: ${text.slice(0, 40)}`;
}
