import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type CredentialProvider,
  type CredentialSource,
  type DockerConfig,
  CredentialsError,
  type KeyringPart,
  type TokenAttributes,
  type TokenBearer,
  cacheKeys,
  isFor,
  pluginRequest,
  readPluginAnswer,
  readProviders,
  wantedAnnotations,
} from '@kubus/images';
import { type ObjectClient, ObjectError } from '@kubus/object-socket';
import { type Clock, type Logger, toError } from '@kubus/ports';
import { parse } from 'yaml';
import type { BridgeMetrics } from '../bridge-metrics.ts';
import type { AccountOfPod } from './pull-credentials.ts';

const run = promisify(execFile);

/** How long a plugin may take, in milliseconds, as in the reference. */
const LIMIT_MS = 60_000;
/** Output limit of a plugin, in bytes. */
const OUTPUT_LIMIT = 1024 * 1024;

/**
 * Reads the configuration of credential providers: one file, or every .json, .yaml and .yml file of a folder in the
 * order of their names.
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
  if (documents.size === 0) throw new CredentialsError('bad-provider-config', `${path}: no configuration file found`);
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

/** One request to a plugin. */
interface Question {
  readonly provider: CredentialProvider;
  readonly repository: string;
  /** Who may use the answer, as a cache scope; empty: every pod. */
  readonly scope: string;
  readonly source?: CredentialSource;
  readonly bearer?: TokenBearer;
}

export interface CredentialPluginsOptions {
  readonly providers: readonly CredentialProvider[];
  /** The folder of the plugins. */
  readonly folder: string;
  /** Reads service accounts and their tokens; default: the node has no object-cache, and no pod an account. */
  readonly accounts?: Pick<ObjectClient, 'serviceAccount' | 'token'> | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: nothing is measured. */
  readonly metrics?: BridgeMetrics | undefined;
}

/** Calls the node's credential provider plugins (KEP-2133, KEP-4412) and caches their answers for as long as they allow. */
export class CredentialPlugins {
  readonly #options: CredentialPluginsOptions;
  readonly #kept = new Map<string, Kept>();
  /** Running requests: callers with the same request share the answer. */
  readonly #asking = new Map<string, Promise<DockerConfig | undefined>>();

  constructor(options: CredentialPluginsOptions) {
    this.#options = options;
  }

  /**
   * The answers of the plugins for this repository, in the order of the configuration. A plugin that fails is left
   * out.
   *
   * @throws ObjectError `ObjectsUnavailable` when a plugin needs a token and no API server can be asked for it.
   */
  async for(repository: string, account?: AccountOfPod): Promise<KeyringPart[]> {
    const asked = this.#options.providers.filter((provider) => isFor(provider, repository));
    const answers = await Promise.all(asked.map((provider) => this.#part(provider, repository, account)));
    return answers.filter((answer) => answer !== undefined);
  }

  async #part(
    provider: CredentialProvider,
    repository: string,
    account: AccountOfPod | undefined,
  ): Promise<KeyringPart | undefined> {
    const question = await this.#question(provider, repository, account);
    const config = question && (await this.#answerTo(question));
    return config && { config, source: question.source };
  }

  /** Undefined when the plugin must not be called. */
  async #question(
    provider: CredentialProvider,
    repository: string,
    account: AccountOfPod | undefined,
  ): Promise<Question | undefined> {
    const { tokenAttributes: wanted } = provider;
    const plain = { provider, repository, scope: '' };
    if (wanted === undefined) return plain;
    if (account === undefined) return wanted.requireServiceAccount ? undefined : plain;
    try {
      return await this.#questionFor(provider, repository, { account, wanted });
    } catch (error) {
      // Only a refusal by the API server is final; any other error is retried later.
      if (!(error instanceof ObjectError && error.code === 'Refused')) throw error;
      const { logger } = this.#options;
      const accountName = `${account.namespace}/${account.name}`;
      logger.error(
        { provider: provider.name, account: accountName, err: error.message },
        'the API server refused a service account',
      );
      return undefined;
    }
  }

  async #questionFor(
    provider: CredentialProvider,
    repository: string,
    { account, wanted }: { account: AccountOfPod; wanted: TokenAttributes },
  ): Promise<Question | undefined> {
    const { accounts, logger } = this.#options;
    const { namespace, name, pod } = account;
    if (accounts === undefined) return undefined;
    const { uid, annotations: all } = await accounts.serviceAccount({ namespace, name });
    const annotations = wantedAnnotations(wanted, all);
    if (annotations === undefined) {
      logger.debug(
        { provider: provider.name, namespace, account: name },
        'a service account lacks a required annotation',
      );
      return undefined;
    }
    const { token } = await accounts.token(
      { namespace, name },
      { audiences: [wanted.serviceAccountTokenAudience], pod, serviceAccountUid: uid },
    );
    const perToken = wanted.cacheType === 'Token' ? [createHash('sha256').update(token).digest('hex')] : [];
    return {
      provider,
      repository,
      scope: JSON.stringify([namespace, name, uid, Object.entries(annotations).sort(), ...perToken]),
      source: { kind: 'ServiceAccount', uid, namespace, name },
      bearer: { token, annotations },
    };
  }

  async #answerTo(question: Question): Promise<DockerConfig | undefined> {
    this.#forgetOld();
    const { provider, repository, scope } = question;
    const keys = cacheKeys(repository).map((key) => keyOf(provider, scope, key));
    const kept = keys.map((key) => this.#kept.get(key)).find((entry) => entry !== undefined);
    if (kept !== undefined) return kept.config;
    const same = keyOf(provider, scope, repository);
    const asking = this.#asking.get(same) ?? this.#ask(question);
    this.#asking.set(same, asking);
    try {
      return await asking;
    } finally {
      this.#asking.delete(same);
    }
  }

  async #ask({ provider, repository, scope, bearer }: Question): Promise<DockerConfig | undefined> {
    const { clock, logger, metrics } = this.#options;
    const began = clock.now();
    let failed = true;
    try {
      const output = await this.#run(provider, pluginRequest(provider, repository, bearer));
      const { config, cacheKey, keepMs } = readPluginAnswer(provider, repository, output, bearer);
      if (keepMs > 0) this.#kept.set(keyOf(provider, scope, cacheKey), { config, until: clock.now() + keepMs });
      failed = false;
      return config;
    } catch (error) {
      logger.error(
        { provider: provider.name, repository, err: whatFailed(error, bearer?.token) },
        'credential provider failed',
      );
      return undefined;
    } finally {
      metrics?.plugin(provider.name, clock.now() - began, failed);
    }
  }

  /** The plugin is killed with this process (setpriv(1)). */
  async #run({ name, args, env }: CredentialProvider, request: string): Promise<string> {
    const running = run('setpriv', ['--pdeathsig', 'KILL', '--', join(this.#options.folder, name), ...args], {
      env: { ...process.env, ...Object.fromEntries(env.map((variable) => [variable.name, variable.value])) },
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
      maxBuffer: OUTPUT_LIMIT,
    });
    // It may ignore its input.
    running.child.stdin?.on('error', () => undefined);
    running.child.stdin?.end(request);
    return (await running).stdout;
  }

  #forgetOld(): void {
    const now = this.#options.clock.now();
    for (const [key, { until }] of this.#kept) if (until <= now) this.#kept.delete(key);
  }
}

function keyOf({ name }: CredentialProvider, scope: string, key: string): string {
  return JSON.stringify([name, scope, key]);
}

/** Why a program or its answer failed. Leaves out its output, which may contain a credential, and the token. */
function whatFailed(error: unknown, token = ''): string {
  if (error instanceof CredentialsError) return error.message;
  const { killed, code, stderr = '' } = error as { killed?: boolean; code?: unknown; stderr?: string };
  const how = killed === true ? `timed out after ${LIMIT_MS / 1000} s` : `exited with ${String(code)}`;
  const said = token === '' ? stderr : stderr.replaceAll(token, '<token>');
  return `${how}: ${said.trim().slice(0, 1000)}`;
}
