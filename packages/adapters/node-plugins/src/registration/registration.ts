import { KubusError, toError } from '@kubus/ports';
import { RegistrationService } from '@kubus/proto/plugin-registration';
import { callPlugin } from './call.ts';

/** Time limit of a plugin for returning its information and for receiving the result of its registration, in milliseconds. */
const INFO_LIMIT_MS = 10_000;
const NOTIFY_LIMIT_MS = 5_000;

/** The information that a plugin returns about itself. */
export interface PluginInfo {
  readonly name: string;
  /** Path of the socket on which it serves. */
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

/** One type of plugins: their validation, and the value of a registered one. */
export interface PluginType<Plugin> {
  /** `CSIPlugin`, `DevicePlugin`, ...: plugins of all other types are ignored. */
  readonly type: string;
  /** Several processes may be registered under one name. Otherwise the one that registers last replaces the others. */
  readonly several?: boolean;
  /**
   * Throws when the plugin is refused.
   *
   * @param present supported versions of the plugin already registered under this name; undefined if there is none
   */
  validate(info: PluginInfo, present: readonly string[] | undefined): void;
  /** Requests further information from the plugin. A rejection refuses the plugin. */
  open(info: PluginInfo): Promise<Plugin>;
}

/** Thrown when a plugin is refused; the plugin receives the message, which is that of the reference kubelet. */
class RegistrationError extends KubusError {}

/** One attempt to register the plugin of a socket. */
export interface RegistrationOptions<Plugin> {
  readonly socket: string;
  readonly of: PluginType<Plugin>;
  /** Supported versions of the plugin already registered under this name; undefined if there is none. */
  readonly taken: (name: string) => readonly string[] | undefined;
  /** From now on the plugin may be called; called before the plugin is notified. */
  readonly accept: (plugin: Plugin, info: PluginInfo) => void;
}

/**
 * Asks a plugin for its information, and notifies it of the result. Resolves with false for a plugin of another type, which is
 * not notified. Throws {@link RegistrationError}, of which the plugin was notified, or PluginCallError.
 */
export async function registerPlugin<Plugin>(options: RegistrationOptions<Plugin>): Promise<boolean> {
  const { socket, of, taken, accept } = options;
  const callee = { socket, limitMs: INFO_LIMIT_MS };
  // The socket may be found before the plugin listens on it.
  const { type, name, ...said } = await callPlugin({ ...callee, waits: true }, RegistrationService.getInfo, {});
  if (type !== of.type) return false;
  const notify = (error: string) => {
    const status = { pluginRegistered: error === '', error };
    return callPlugin({ ...callee, limitMs: NOTIFY_LIMIT_MS }, RegistrationService.notifyRegistrationStatus, status);
  };
  const endpoint = said.endpoint === '' ? socket : said.endpoint.replace(/^unix:(\/\/)?/, '');
  const info = { ...said, name, endpoint };
  let step = 'validation';
  try {
    of.validate(info, taken(name));
    step = 'registration';
    accept(await of.open(info), info);
  } catch (error) {
    const message = `RegisterPlugin error -- plugin ${step} failed with err: ${toError(error).message}`;
    await notify(message);
    throw new RegistrationError('refused', message, { cause: error, context: { socket, plugin: name } });
  }
  await notify('');
  return true;
}
