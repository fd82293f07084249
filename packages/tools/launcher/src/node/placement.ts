import type { ServiceName } from '@kubus/contracts';
import { toError } from '@kubus/ports';
import { readFileSync, statSync } from 'node:fs';
import { parse } from 'yaml';
import * as z from 'zod';
import { LauncherError } from '../errors.ts';

/** The services that can share a process. The observatory and kube-api, which wait for the disk, always have their own, so that they do not disturb the others. */
export const hostable = [
  'cni-bridge',
  'cri-bridge',
  'volume-manager',
  'pod-workers',
  'prober',
  'node-agent',
  'sync-loop',
  'config-sources',
  'node-api',
  'object-cache',
  'status-manager',
] as const satisfies readonly ServiceName[];

/** More than a file of groups needs, in bytes. */
const LARGEST = 64 * 1024;

const groupsSchema = z
  .record(
    z.string().regex(/^[a-z]{1,20}$/, 'the name of a group is 1 to 20 letters from a to z'),
    z.array(z.enum(hostable)).min(2, 'a group has at least two services'),
  )
  .refine((groups) => Object.keys(groups).length > 0, 'there is no group')
  .superRefine((groups, context) => {
    const seen = new Set<string>();
    for (const [name, services] of Object.entries(groups)) {
      for (const [index, service] of services.entries()) {
        if (seen.has(service)) {
          context.addIssue({ code: 'custom', path: [name, index], message: `${service} is named twice` });
        }
        seen.add(service);
      }
    }
  });

/**
 * Which services share a process: none, all in one, or groups by name. A service that no group names has a process of its own. Only the first
 * instance of a service is in a group.
 */
export const placementSchema = z.union([z.enum(['separate', 'hosted']), groupsSchema]);
/** See {@link placementSchema}. */
export type Placement = z.infer<typeof placementSchema>;

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
