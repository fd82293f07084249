import { KubusError, toError } from '@kubus/ports';
import { RegistrationService } from '@kubus/proto/plugin-registration';
import { callPlugin } from './call.ts';

/** How long a plugin may take to say what it is, and to take note of what became of its registration, in milliseconds. */
const INFO_LIMIT_MS = 10_000;
const NOTIFY_LIMIT_MS = 5_000;

/** What a plugin says of itself. */
export interface PluginInfo {
  readonly name: string;
  /** Path of the socket on which it serves. */
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

/** One type of plugins: what is asked of them, and what one of them is once it is registered. */
export interface PluginType<Plugin> {
  /** `CSIPlugin`, `DevicePlugin`, ...: plugins of all others are somebody else's business. */
  readonly type: string;
  /**
   * Throws when the plugin can not be taken.
   *
   * @param present versions that the plugin supports that has this name already; undefined when there is none
   */
  validate(info: PluginInfo, present: readonly string[] | undefined): void;
  /** Asks the plugin for what has to be known of it. A rejection keeps it from being taken. */
  open(info: PluginInfo): Promise<Plugin>;
}

/** A plugin is not taken; the message is what it is told, in the reference kubelet's words. */
export class RegistrationError extends KubusError {}

/** One attempt to register what listens on a socket. */
export interface RegistrationOptions<Plugin> {
  readonly socket: string;
  readonly of: PluginType<Plugin>;
  /** Versions that the plugin supports that has this name already; undefined when there is none. */
  readonly taken: (name: string) => readonly string[] | undefined;
  /** From now on the plugin may be asked; before it hears of that. */
  readonly accept: (plugin: Plugin, info: PluginInfo) => void;
}

/**
 * Asks a plugin what it is, and tells it what became of it. Resolves with false for a plugin of another type, which hears
 * nothing. Throws {@link RegistrationError}, which the plugin has heard of, or PluginCallError.
 */
export async function registerPlugin<Plugin>(options: RegistrationOptions<Plugin>): Promise<boolean> {
  const { socket, of, taken, accept } = options;
  const callee = { socket, limitMs: INFO_LIMIT_MS };
  // Between the making of a socket and the first listening on it somebody may look.
  const { type, name, ...said } = await callPlugin({ ...callee, waits: true }, RegistrationService.getInfo, {});
  if (type !== of.type) return false;
  const tell = (error: string) => {
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
    await tell(message);
    throw new RegistrationError('refused', message, { cause: error, context: { socket, plugin: name } });
  }
  await tell('');
  return true;
}
