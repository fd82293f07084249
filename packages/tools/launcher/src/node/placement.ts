import { toError } from '@kubus/ports';
import { type Placement, groupsSchema } from '@kubus/service-kit';
import { readFileSync, statSync } from 'node:fs';
import { parse } from 'yaml';
import * as z from 'zod';
import { LauncherError } from '../errors.ts';

/** More than a file of groups needs, in bytes. */
const LARGEST = 64 * 1024;

/**
 * The placement that `--placement` means.
 *
 * @param value `separate`, `hosted`, or the path of a YAML file: `groups:` with lists of services by name
 * @throws LauncherError `BadPlacement` naming file and field
 */
export function readPlacement(value: string): Placement {
  if (value === 'separate' || value === 'hosted') return value;
  const bad = (message: string, cause?: unknown) =>
    new LauncherError('BadPlacement', `${value}: ${message}`, { cause, context: { file: value } });
  let document: unknown;
  try {
    document = parse(readSmall(value));
  } catch (error) {
    throw bad(toError(error).message, error);
  }
  const read = z.strictObject({ groups: groupsSchema }).safeParse(document);
  if (read.success) return read.data.groups;
  const [{ path, message } = { path: [], message: 'invalid' }] = read.error.issues;
  throw bad(`${path.length === 0 ? '' : `${path.join('.')}: `}${message}`, read.error);
}

function readSmall(path: string): string {
  const file = statSync(path);
  if (!file.isFile()) throw new Error('it is not a file');
  if (file.size > LARGEST) throw new Error(`it has ${file.size} bytes, more than ${LARGEST}`);
  return readFileSync(path, 'utf8');
}
