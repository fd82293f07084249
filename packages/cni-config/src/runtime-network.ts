/** The shim's name as a plugin. */
export const SHIM_TYPE = 'kubus-cni';

/**
 * The name under which a runtime is configured with a handler of RuntimeClasses a second time, so that its pods get their
 * network through the shim: the same runtime with our own handler's CNI folder.
 *
 * @param own our handler, whose runtime is the default one.
 * @param handler as a RuntimeClass names it; empty for the default one.
 */
export function handlerWithShim(own: string, handler: string): string {
  return handler === '' ? own : `${own}-${handler}`;
}

/** What runtimes pass on to plugins that declare it (CNI CONVENTIONS.md, "Dynamic Plugin specific fields"). */
const CAPABILITIES = ['portMappings', 'bandwidth', 'dns', 'ipRanges', 'ips', 'mac', 'aliases', 'cgroupPath'];

/**
 * The network configuration (a `.conflist`) for the runtime's own folder: one network whose only plugin is the shim. It
 * declares every capability, so that the plugins of the real chain can choose theirs. Runtimes that know `cniVersions` use
 * the newest (and so ask for STATUS), older ones use `cniVersion`.
 */
export function runtimeNetwork(): string {
  const capabilities = Object.fromEntries(CAPABILITIES.map((name) => [name, true]));
  const network = {
    cniVersion: '1.0.0',
    cniVersions: ['1.0.0', '1.1.0'],
    name: 'kubus',
    plugins: [{ type: SHIM_TYPE, capabilities }],
  };
  return `${JSON.stringify(network, null, 2)}\n`;
}
