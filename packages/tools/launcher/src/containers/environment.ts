import { hasErrno, toError } from '@kubus/ports';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import * as z from 'zod';
import { LauncherError } from '../errors.ts';
import { parseNatsUrl } from '../nats/nats-relay.ts';
import { ownNatsUrl } from '../nats/nats-server.ts';
import type { ContainerSettings } from './container-config.ts';
import { type ContainerDir, containerDir, inContainer } from './container-dir.ts';
import type { Removal } from './remove-nodes.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** An empty variable counts as unset: Compose passes unset variables as empty ones. */
const text = z.preprocess((value) => (value === '' ? undefined : value), z.string().optional());

const schema = z.object({
  KUBUS_NODE: text.transform((name) => name ?? 'node0'),
  KUBUS_FOLDER: text,
  KUBUS_NATS_URL: text.transform((url) => url ?? ownNatsUrl()),
  KUBUS_NODE_IP: text
    .transform((list) => list?.split(',') ?? [])
    .pipe(
      z.array(z.union([z.ipv4(), z.ipv6()], { error: 'must be an IP address, or one of each family and a comma' })),
    ),
  KUBUS_OVERLAY: text,
  KUBUS_OBSERVATORY: text.pipe(z.enum(['true', 'false'], { error: 'must be true or false' }).default('false')),
  KUBUS_SHARED_RUNTIME: text.pipe(z.enum(['true', 'false'], { error: 'must be true or false' }).default('false')),
  KUBUS_BESIDE_KUBELET: text.pipe(z.enum(['true', 'false'], { error: 'must be true or false' }).default('true')),
  KUBUS_LOG_LEVEL: text.transform((level) => level ?? 'info'),
  KUBUS_HTTP_PORT: text
    .transform((port) => Number(port ?? 10_300))
    .pipe(
      z
        .int()
        .min(1, { error: 'must be a TCP port, 1 to 65000' })
        .max(65_000, { error: 'must be a TCP port, 1 to 65000' }),
    ),
});

/**
 * The folders of the node that a container belongs to.
 *
 * @throws LauncherError `BadEnvironment`, and as {@link containerDir}.
 */
export function readContainerDir(environment: Environment): ContainerDir {
  const { KUBUS_NODE: node, KUBUS_FOLDER: folder = node } = read(environment);
  return containerDir(node, folder);
}

/**
 * The settings of `kubus install`.
 *
 * @throws LauncherError `BadEnvironment` that names the variable, `BadOverlay` that names the file, `BadNatsUrl`.
 */
export async function readInstallSettings(
  environment: Environment,
): Promise<{ dir: ContainerDir; settings: ContainerSettings }> {
  const values = read(environment);
  // Only validated: services in containers connect directly, without the relay of a private node.
  parseNatsUrl(values.KUBUS_NATS_URL);
  const settings = {
    natsUrl: values.KUBUS_NATS_URL,
    nodeIps: values.KUBUS_NODE_IP,
    logLevel: values.KUBUS_LOG_LEVEL,
    observatory: values.KUBUS_OBSERVATORY === 'true',
    sharedRuntime: values.KUBUS_SHARED_RUNTIME === 'true',
    besideKubelet: values.KUBUS_BESIDE_KUBELET === 'true',
    httpPort: values.KUBUS_HTTP_PORT,
    overlay: await readOverlay(values.KUBUS_OVERLAY),
  };
  return { dir: readContainerDir(environment), settings };
}

const removalSchema = z.object({
  KUBUS_NAMESPACE: z.string().min(1),
  KUBUS_DAEMONSET: z.string().min(1),
  KUBUS_NAME_SUFFIX: z.string().default(''),
});

/**
 * What `kubus remove-nodes` waits for.
 *
 * @throws LauncherError `BadEnvironment` that names the variable.
 */
export function readRemoval(environment: Environment): Removal {
  const values = parsed(removalSchema, environment);
  return {
    namespace: values.KUBUS_NAMESPACE,
    daemonSet: values.KUBUS_DAEMONSET,
    nameSuffix: values.KUBUS_NAME_SUFFIX,
  };
}

function read(environment: Environment): z.infer<typeof schema> {
  return parsed(schema, environment);
}

function parsed<T>(variables: z.ZodType<T>, environment: Environment): T {
  const read = variables.safeParse(environment);
  if (read.success) return read.data;
  const wrong = read.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ');
  throw new LauncherError('BadEnvironment', wrong);
}

/** The default file may be missing; one that KUBUS_OVERLAY names may not. */
async function readOverlay(named: string | undefined): Promise<ContainerSettings['overlay']> {
  const file = named ?? inContainer.overlay;
  try {
    return { file, patch: parse(await readFile(file, 'utf8')) ?? {} };
  } catch (error) {
    if (named === undefined && hasErrno(error, 'ENOENT')) return undefined;
    const message = `${file}: ${toError(error).message.split('\n')[0]}`;
    throw new LauncherError('BadOverlay', message, { cause: error, context: { file } });
  }
}
