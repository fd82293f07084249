import { type IdPool, poolProblem, subordinateIds, wholePool } from '@kubus/admission';
import { hasErrno, toError } from '@kubus/ports';
import { ConfigError, type NodeConfig } from '@kubus/service-kit';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The user whose subordinate ids the pods get, as with the reference kubelet. */
const USER = 'kubelet';

/** Where the machine defines its ids. */
interface IdSources {
  readonly passwd: string;
  /** getsubids(1). */
  readonly getsubids: string;
}

const machine: IdSources = { passwd: '/etc/passwd', getsubids: 'getsubids' };

/**
 * The ids for the pods' user namespaces: the subordinate ids of the user `kubelet` if that user and getsubids(1) exist,
 * else all but the host's own (behaviour:qos-and-cgroups, User namespaces).
 *
 * @throws ConfigError when they cannot be read, or are unusable
 */
export async function idPool(
  { pods, userNamespaces: { idsPerPod } }: Pick<NodeConfig, 'pods' | 'userNamespaces'>,
  sources = machine,
): Promise<IdPool> {
  const own = (await hasUser(sources.passwd)) ? await ownIds(sources.getsubids) : undefined;
  const pool = own === undefined ? wholePool(idsPerPod) : { ...own, idsPerPod };
  const problem = poolProblem(pool, pods.max);
  if (problem === undefined) return pool;
  const idSource = own === undefined ? 'userNamespaces.idsPerPod' : `the subordinate ids of user ${USER}`;
  throw new ConfigError('bad-config', `${idSource}: ${problem}`);
}

async function hasUser(passwd: string): Promise<boolean> {
  return (await readFile(passwd, 'utf8')).split('\n').some((line) => line.startsWith(`${USER}:`));
}

/** Undefined without getsubids. Its failure or empty output may mean that a directory server does not answer now. */
async function ownIds(getsubids: string): Promise<Pick<IdPool, 'first' | 'count'> | undefined> {
  try {
    const [uids, gids] = await Promise.all([run(getsubids, [USER]), run(getsubids, ['-g', USER])]);
    const ids = subordinateIds(uids.stdout, gids.stdout);
    if (ids !== undefined) return ids;
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined;
    const message = `the subordinate ids of user ${USER} cannot be read: ${toError(error).message}`;
    throw new ConfigError('bad-config', message, { cause: error });
  }
  throw new ConfigError(
    'bad-config',
    `user ${USER} must have exactly one range of subordinate ids, the same for users and groups`,
  );
}
