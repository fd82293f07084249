import { toError } from '@kubus/ports';
import { readFile } from 'node:fs/promises';
import { UserError } from '../user-error.ts';

/** What `decode` makes of the text of a file. Throws a UserError that names the file, also for what `decode` throws. */
export async function readUserFile<T>(path: string, decode: (text: string) => T): Promise<T> {
  try {
    return decode(await readFile(path, 'utf8'));
  } catch (error) {
    throw new UserError(`${path}: ${toError(error).message}`, { cause: error });
  }
}
