import { imageNameProblem, parseImageName, repositoryOf } from '@kubus/contracts';
import { UserError } from '../user-error.ts';

/**
 * The name with registry, path and tag or digest, as the runtime keeps it: `busybox` is `docker.io/library/busybox:latest`.
 *
 * @throws UserError for a text that is not an image name.
 */
export function fullImageName(text: string): string {
  const name = parseImageName(text);
  const repository = repositoryOf(text);
  if (name === undefined || repository === undefined) {
    throw new UserError(`"${text}" is not the name of an image: ${imageNameProblem(text) ?? ''}`);
  }
  const tag = name.tag ?? (name.digest === undefined ? 'latest' : undefined);
  return [repository, tag && `:${tag}`, name.digest && `@${name.digest}`].filter(Boolean).join('');
}
