import { KubeConfig } from '@kubernetes/client-node';
import { KubusError } from '@kubus/ports';
import { readFile } from 'node:fs/promises';
import type { Agent } from 'node:http';
import type { RequestOptions } from 'node:https';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';

/** Thrown when a kubeconfig cannot be read or used; the message names the file. */
class KubeconfigError extends KubusError {}

/** What a connection needs to act as the user of a kubeconfig. */
export interface Identity {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: {
    readonly ca: Buffer | undefined;
    readonly cert: Buffer | string | undefined;
    readonly key: Buffer | string | undefined;
    readonly servername: string | undefined;
    readonly rejectUnauthorized: boolean | undefined;
  };
  /** The agent for connections to a cluster behind a proxy. */
  readonly proxy: Agent | undefined;
}

export interface LoadedKubeconfig {
  readonly server: string;
  readonly proxyUrl: string | undefined;
  /** The cluster's entry in the kubeconfig, with absolute paths. */
  readonly cluster: Readonly<Record<string, unknown>>;
  /** Files that it consists of. */
  readonly files: readonly string[];
  /** The user may change without a change of the files: an exec plugin or an auth provider supplies it. */
  readonly dynamic: boolean;
  identity(): Promise<Identity>;
}

/** A field that @kubernetes/client-node's `User` lacks: it reads `token-file`, but the format has `tokenFile`. */
const tokenFilesSchema = z.object({
  users: z
    .array(z.object({ name: z.string(), user: z.object({ tokenFile: z.string().optional() }).nullish() }))
    .nullish(),
});

/**
 * Reads a kubeconfig with all files that it names. Paths in it are relative to its folder. Rejects when one of them is
 * missing or invalid.
 */
export async function loadKubeconfig(path: string): Promise<LoadedKubeconfig> {
  const text = await readFile(path, 'utf8');
  const config = new KubeConfig();
  const document: unknown = parse(text);
  if (typeof document !== 'object' || document === null) throw invalid(path, 'is not a kubeconfig');
  config.loadFromString(text);
  config.makePathsAbsolute(dirname(path));
  const cluster = config.getCurrentCluster();
  const user = config.getCurrentUser();
  if (cluster === null) throw invalid(path, 'current-context names no cluster');
  if (user === null) throw invalid(path, 'current-context names no user');

  const { users } = tokenFilesSchema.parse(document);
  const named = users?.find(({ name }) => name === user.name)?.user?.tokenFile;
  const tokenFile = named === undefined ? undefined : resolve(dirname(path), named);
  const token = tokenFile === undefined ? user.token : (await readFile(tokenFile, 'utf8')).trim();
  if (token !== undefined) config.users = config.users.map((one) => (one.name === user.name ? { ...one, token } : one));
  runAsPlugin(user.exec, dirname(path));
  return {
    server: cluster.server,
    proxyUrl: cluster.proxyUrl,
    cluster: {
      server: cluster.server,
      'certificate-authority': cluster.caFile,
      'certificate-authority-data': cluster.caData,
      'tls-server-name': cluster.tlsServerName,
      'insecure-skip-tls-verify': cluster.skipTLSVerify || undefined,
      'proxy-url': cluster.proxyUrl,
    },
    files: [path, cluster.caFile, user.certFile, user.keyFile, tokenFile].filter((file) => typeof file === 'string'),
    dynamic: isSet(user.exec) || isSet(user.authProvider),
    identity: () => identity(config, cluster.proxyUrl !== undefined),
  };
}

async function identity(config: KubeConfig, proxied: boolean): Promise<Identity> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const { ca, cert, key, servername, rejectUnauthorized, headers, auth, agent } = options;
  return {
    headers: {
      ...(typeof auth === 'string' && { Authorization: `Basic ${Buffer.from(auth).toString('base64')}` }),
      ...(headers as Record<string, string> | undefined),
    },
    tls: {
      ca: ca as Buffer | undefined,
      cert: cert as Buffer | string | undefined,
      key: key as Buffer | string | undefined,
      servername,
      rejectUnauthorized,
    },
    proxy: proxied ? (agent as Agent) : undefined,
  };
}

const execSchema = z.object({
  command: z.string(),
  apiVersion: z.string().default('client.authentication.k8s.io/v1'),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
});

/**
 * What plugins expect and the library leaves to its caller: KUBERNETES_EXEC_INFO, and paths relative to the kubeconfig's
 * folder.
 */
function runAsPlugin(exec: unknown, dir: string): void {
  if (!isSet(exec)) return;
  const { command, apiVersion, env } = execSchema.parse(exec);
  const info = { kind: 'ExecCredential', apiVersion, spec: { interactive: false } };
  Object.assign(exec, {
    command: command.includes('/') ? resolve(dir, command) : command,
    env: [...(env ?? []), { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }],
  });
}

function isSet(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function invalid(path: string, what: string): KubeconfigError {
  return new KubeconfigError('bad-kubeconfig', `${path}: ${what}`, { context: { path } });
}
