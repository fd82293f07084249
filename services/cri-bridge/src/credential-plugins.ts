import { execFile } from 'node:child_process';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type CredentialProvider,
  type DockerConfig,
  CredentialsError,
  cacheKeys,
  isFor,
  pluginRequest,
  readPluginAnswer,
  readProviders,
} from '@kubus/image-credentials';
import { type Clock, type Logger, toError } from '@kubus/ports';
import { parse } from 'yaml';

const run = promisify(execFile);

/** How long a plugin may take, as in the reference. */
const LIMIT_MS = 60_000;
/** Bytes that a plugin may print. */
const OUTPUT_LIMIT = 1024 * 1024;

/**
 * Reads the configuration of credential providers: one file, or every .json, .yaml and .yml file of a folder in the order
 * of their names.
 *
 * @throws CredentialsError `bad-provider-config`
 */
export async function readProviderFiles(path: string): Promise<CredentialProvider[]> {
  const documents = new Map<string, unknown>();
  try {
    for (const file of await configFiles(path)) documents.set(file, parse(await readFile(file, 'utf8')));
  } catch (error) {
    throw new CredentialsError('bad-provider-config', `${path}: ${toError(error).message}`, { cause: error });
  }
  if (documents.size === 0)
    throw new CredentialsError('bad-provider-config', `${path}: there is no configuration file`);
  return readProviders(documents);
}

async function configFiles(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => /\.(json|ya?ml)$/.test(name));
  return names.sort().map((name) => join(path, name));
}

interface Kept {
  readonly config: DockerConfig;
  readonly until: number;
}

/** Asks the node's credential provider plugins (KEP-2133) and keeps their answers for as long as they say. */
export class CredentialPlugins {
  readonly #providers: readonly CredentialProvider[];
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #kept = new Map<string, Kept>();
  /** Questions under way: who asks the same waits for the answer. */
  readonly #asking = new Map<string, Promise<DockerConfig | undefined>>();

  constructor(options: { providers: readonly CredentialProvider[]; folder: string; clock: Clock; logger: Logger }) {
    this.#providers = options.providers;
    this.#folder = options.folder;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  /** What the plugins for this repository say, in the order of the configuration. One that fails is left out. */
  async for(repository: string): Promise<DockerConfig[]> {
    const asked = this.#providers.filter((provider) => isFor(provider, repository));
    const answers = await Promise.all(asked.map((provider) => this.#answerOf(provider, repository)));
    return answers.filter((answer) => answer !== undefined);
  }

  async #answerOf(provider: CredentialProvider, repository: string): Promise<DockerConfig | undefined> {
    this.#forgetOld();
    const keys = cacheKeys(repository).map((key) => `${provider.name} ${key}`);
    const kept = keys.map((key) => this.#kept.get(key)).find((entry) => entry !== undefined);
    if (kept !== undefined) return kept.config;
    const question = `${provider.name} ${repository}`;
    const asking = this.#asking.get(question) ?? this.#ask(provider, repository);
    this.#asking.set(question, asking);
    try {
      return await asking;
    } finally {
      this.#asking.delete(question);
    }
  }

  async #ask(provider: CredentialProvider, repository: string): Promise<DockerConfig | undefined> {
    const { name } = provider;
    try {
      const output = await this.#run(provider, pluginRequest(provider, repository));
      const { config, cacheKey, keepMs } = readPluginAnswer(provider, repository, output);
      if (keepMs > 0) this.#kept.set(`${name} ${cacheKey}`, { config, until: this.#clock.now() + keepMs });
      return config;
    } catch (error) {
      this.#logger.error({ provider: name, repository, err: whatFailed(error) }, 'a credential provider gave nothing');
      return undefined;
    }
  }

  /** The plugin dies with this process (setpriv(1)). */
  async #run({ name, args, env }: CredentialProvider, request: string): Promise<string> {
    const running = run('setpriv', ['--pdeathsig', 'KILL', '--', join(this.#folder, name), ...args], {
      env: { ...process.env, ...Object.fromEntries(env.map((variable) => [variable.name, variable.value])) },
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
      maxBuffer: OUTPUT_LIMIT,
    });
    // It need not read what it is asked.
    running.child.stdin?.on('error', () => undefined);
    running.child.stdin?.end(request);
    return (await running).stdout;
  }

  #forgetOld(): void {
    const now = this.#clock.now();
    for (const [key, { until }] of this.#kept) if (until <= now) this.#kept.delete(key);
  }
}

/** Why a program or its answer is no good. Its output, which may hold a credential, is no part of it. */
function whatFailed(error: unknown): string {
  if (error instanceof CredentialsError) return error.message;
  const { killed, code, stderr = '' } = error as { killed?: boolean; code?: unknown; stderr?: string };
  const how = killed === true ? `it did not end within ${LIMIT_MS / 1000} s` : `it ended with ${String(code)}`;
  return `${how}: ${stderr.trim().slice(0, 1000)}`;
}
