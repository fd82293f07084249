import type { Pod } from '@kubus/contracts';
import { decodeManifest, defaultPod, validatePod } from '@kubus/pod-source';
import { UserError } from '../user-error.ts';
import { readUserFile } from './user-file.ts';

/**
 * Reads the manifest of a pod, JSON or YAML, as an API server takes it: with its defaults. Throws a UserError that names file and field, of
 * the first error.
 */
export async function readPodFile(path: string): Promise<Pod> {
  const { pods, errors } = await readUserFile(path, decodeManifest);
  const [error] = errors;
  if (error !== undefined) throw problem(path, error.field, error.message);
  const [first, ...more] = pods;
  if (first === undefined || more.length > 0) throw new UserError(`${path}: must be one pod, not ${pods.length}`);
  const { metadata, ...written } = first.pod;
  // What the API server sets, or takes from the request.
  const named = { ...metadata, uid: 'trial', namespace: metadata.namespace === '' ? 'default' : metadata.namespace };
  const pod = defaultPod({ ...written, metadata: named });
  const [wrong] = validatePod(pod, first.at);
  if (wrong !== undefined) throw problem(path, wrong.path.toString(), wrong.message);
  return pod;
}

function problem(path: string, field = '', message: string): UserError {
  return new UserError([path, ...(field === '' ? [] : [field]), message].join(': '));
}
