import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { toError } from '@kubus/ports';
import { testCache } from '../test-cache.ts';

const run = promisify(execFile);

/** A Docker engine's programs, unpacked but not installed: installing the package would start an engine on the machine. */
export interface DockerPrograms {
  /** The folder that has them, laid out like a file system's root. */
  readonly root: string;
  /** Value of DOCKER_CONFIG: a folder with the plugins compose and buildx. */
  readonly config: string;
}

const packages = ['docker.io', 'docker-cli', 'docker-compose', 'docker-buildx'];
/** The first release of Debian with all of them; they run on the one before as well. */
const release = 'trixie';
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** Debian's engine, fetched once per machine; or why it is not available. */
export async function findDocker(): Promise<DockerPrograms | { readonly missing: string }> {
  const root = join(testCache(), `docker-${release}`);
  try {
    if (!(await isThere(root))) await fetchDocker(root);
    return { root, config: join(root, 'config') };
  } catch (error) {
    const [line = ''] = toError(error).message.trim().split('\n').slice(-1);
    return { missing: `Debian's packages ${packages.join(', ')} cannot be fetched: ${line}` };
  }
}

async function fetchDocker(root: string): Promise<void> {
  await mkdir(testCache(), { recursive: true });
  const folder = await mkdtemp(`${root}.`);
  try {
    const lists = join(folder, 'lists');
    const cache = join(folder, 'cache');
    const sources = join(folder, 'sources.list');
    const unpacked = join(folder, 'root');
    await mkdir(join(lists, 'partial'), { recursive: true });
    await mkdir(join(cache, 'archives/partial'), { recursive: true });
    await writeFile(sources, `deb [signed-by=${keyring}] http://deb.debian.org/debian ${release} main\n`);
    const settings = [
      `Dir::Etc::sourcelist=${sources}`,
      'Dir::Etc::sourceparts=/dev/null',
      `Dir::State::lists=${lists}`,
      `Dir::Cache=${cache}`,
    ].flatMap((setting) => ['-o', setting]);
    await run('apt-get', [...settings, 'update'], { cwd: folder });
    await run('apt-get', [...settings, 'download', ...packages.map((name) => `${name}/${release}`)], { cwd: folder });
    for (const file of (await readdir(folder)).filter((name) => name.endsWith('.deb'))) {
      await run('dpkg-deb', ['--extract', join(folder, file), unpacked]);
    }
    const plugins = join(unpacked, 'config/cli-plugins');
    await mkdir(plugins, { recursive: true });
    for (const name of ['docker-compose', 'docker-buildx']) {
      await symlink(`../../usr/libexec/docker/cli-plugins/${name}`, join(plugins, name));
    }
    await rename(unpacked, root).catch(async (error: unknown) => {
      // Another test process has fetched them meanwhile.
      if (!(await isThere(root))) throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
