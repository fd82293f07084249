import { Server, ServerCredentials, type UntypedServiceImplementation, status } from '@grpc/grpc-js';
import { isExtendedResource } from '@kubus/contracts';
import type { PluginType } from '../registration/registration.ts';
import { KubusError, type Logger, toError } from '@kubus/ports';
import { type RegisterRequest, RegistrationService } from '@kubus/proto/device-plugin-grpc';
import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DevicePlugin, type DevicePluginOptions } from './device-plugin.ts';

const VERSION = 'v1beta1';
/** The name of the node's own socket in the folder, known to plugins. */
const SOCKET = 'kubelet.sock';

/** A plugin with the devices of a resource. */
export interface RegisteredPlugin {
  readonly resource: string;
  readonly plugin: DevicePlugin;
  readonly options: DevicePluginOptions;
}

/** Device plugins that register like other plugins, in `plugins_registry`. */
export const devicePlugins: PluginType<RegisteredPlugin> = {
  type: 'DevicePlugin',
  validate: ({ name, supportedVersions }) => {
    if (!supportedVersions.includes(VERSION)) {
      const versions = `[${supportedVersions.join(' ')}]`;
      const message = `manager version, ${VERSION}, is not among plugin supported versions ${versions}`;
      throw new KubusError('refused', message);
    }
    if (!isExtendedResource(name)) {
      throw new KubusError('refused', `invalid name of device plugin socket: the ResourceName "${name}" is invalid`);
    }
  },
  open: ({ name, endpoint }) => openPlugin(name, endpoint),
};

export interface DevicePluginRegistryOptions {
  /** Where the sockets are; created if it is missing. */
  readonly folder: string;
  readonly logger: Logger;
  /** Called when a plugin requests its registration, also if it is refused. */
  readonly asked: (resource: string) => void;
  readonly registered: (plugin: RegisteredPlugin) => void;
}

/** The socket on which device plugins register themselves (behaviour:resource-managers, Device plugin). */
export class DevicePluginRegistry {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /**
   * Removes the sockets of earlier runs, those of plugins too, which makes running plugins register
   * again. Other files in the folder stay.
   */
  static async start(options: DevicePluginRegistryOptions): Promise<DevicePluginRegistry> {
    const { folder } = options;
    await mkdir(folder, { recursive: true, mode: 0o750 });
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isSocket()) await rm(join(folder, entry.name), { force: true });
    }
    const server = new Server({ 'grpc.enable_channelz': 0 });
    server.addService(RegistrationService, {
      register: ({ request }: { request: RegisterRequest }, respond: Respond) => {
        register(options, request).then(
          () => respond(null, {}),
          (error: unknown) => {
            const { message } = toError(error);
            options.logger.warn(
              { resource: request.resourceName, err: message },
              'a device plugin cannot be registered',
            );
            respond({ code: status.UNKNOWN, details: message });
          },
        );
      },
    } satisfies UntypedServiceImplementation);
    const path = join(folder, SOCKET);
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve(undefined) : reject(error),
    );
    await promise;
    await chmod(path, 0o600);
    return new DevicePluginRegistry(server);
  }

  /** Ends every connection and removes the socket. */
  stop(): void {
    this.#server.forceShutdown();
  }
}

type Respond = (error: { code: number; details: string } | null, answer?: unknown) => void;

async function register(
  { folder, asked, registered }: DevicePluginRegistryOptions,
  { version, endpoint, resourceName }: RegisterRequest,
): Promise<void> {
  asked(resourceName);
  if (version !== VERSION) {
    const supported = `Supported version is ["${VERSION}"]`;
    throw new KubusError('refused', `requested API version "${version}" is not supported by kubelet. ${supported}`);
  }
  if (!isExtendedResource(resourceName)) {
    throw new KubusError('refused', `the ResourceName "${resourceName}" is invalid`);
  }
  if (endpoint === '' || basename(endpoint) !== endpoint || endpoint === SOCKET) {
    throw new KubusError('refused', `the endpoint "${endpoint}" is not the name of a socket of the plugin`);
  }
  registered(await openPlugin(resourceName, join(folder, endpoint)));
}

async function openPlugin(resource: string, socket: string): Promise<RegisteredPlugin> {
  const plugin = new DevicePlugin(socket);
  try {
    return { resource, plugin, options: await plugin.options() };
  } catch (error) {
    throw new KubusError('refused', `failed to get device plugin options: ${toError(error).message}`, { cause: error });
  }
}
