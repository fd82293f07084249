import { type IdPool, poolProblem, subordinateIds, wholePool } from '@kubus/pod-manager';
import { hasErrno, toError } from '@kubus/ports';
import { ConfigError, type NodeConfig } from '@kubus/service-kit';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Whose subordinate ids the pods get, as with the reference kubelet. */
const USER = 'kubelet';

/** Where the machine says what belongs to whom. */
export interface IdSources {
  readonly passwd: string;
  /** getsubids(1). */
  readonly getsubids: string;
}

const machine: IdSources = { passwd: '/etc/passwd', getsubids: 'getsubids' };

/**
 * The ids for the pods' user namespaces: the subordinate ids of the user `kubelet` where there is such a user and the
 * program that tells them, else all but the host's own (kubelet behaviour 1.20, User namespaces).
 *
 * @throws ConfigError when they can not be told, or are no good.
 */
export async function idPool(
  { pods, userNamespaces: { idsPerPod } }: Pick<NodeConfig, 'pods' | 'userNamespaces'>,
  sources = machine,
): Promise<IdPool> {
  const own = (await hasUser(sources.passwd)) ? await ownIds(sources.getsubids) : undefined;
  const pool = own === undefined ? wholePool(idsPerPod) : { ...own, idsPerPod };
  const problem = poolProblem(pool, pods.max);
  if (problem === undefined) return pool;
  const whose = own === undefined ? 'userNamespaces.idsPerPod' : `the subordinate ids of user ${USER}`;
  throw new ConfigError('bad-config', `${whose}: ${problem}`);
}

async function hasUser(passwd: string): Promise<boolean> {
  return (await readFile(passwd, 'utf8')).split('\n').some((line) => line.startsWith(`${USER}:`));
}

/** Undefined where there is no getsubids. That it fails or tells nothing may mean that who knows can not be asked now. */
async function ownIds(getsubids: string): Promise<Pick<IdPool, 'first' | 'count'> | undefined> {
  try {
    const [uids, gids] = await Promise.all([run(getsubids, [USER]), run(getsubids, ['-g', USER])]);
    const ids = subordinateIds(uids.stdout, gids.stdout);
    if (ids !== undefined) return ids;
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined;
    const message = `the subordinate ids of user ${USER} can not be read: ${toError(error).message}`;
    throw new ConfigError('bad-config', message, { cause: error });
  }
  throw new ConfigError('bad-config', `user ${USER} has not one range of ids, the same for users and groups`);
}
