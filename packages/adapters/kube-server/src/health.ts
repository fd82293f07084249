import { noSuchPath } from '@kubus/kube-objects';
import type { RequestInfo } from './request-info.ts';

/** What each of the paths looks at. Whoever gets an answer has reached a server that has read its objects. */
const CHECKS = ['ping', 'etcd'];
const PATH = /^\/(healthz|livez|readyz)(?:\/([^/]+))?$/;

/**
 * The text of the server's health, as in the reference; undefined: another path. Anybody may ask.
 *
 * @throws StatusError 404 for a check that there is not.
 */
export function healthText({ path, query }: RequestInfo): string | undefined {
  const [, kind, check] = PATH.exec(path) ?? [];
  if (kind === undefined) return undefined;
  if (check !== undefined && !CHECKS.includes(check)) throw noSuchPath();
  if (check !== undefined || !query.has('verbose')) return 'ok';
  const left = CHECKS.filter((name) => !query.getAll('exclude').includes(name));
  return `${left.map((name) => `[+]${name} ok\n`).join('')}${kind} check passed\n`;
}
