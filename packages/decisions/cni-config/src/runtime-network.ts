/** The shim's name as a plugin. */
const SHIM_TYPE = 'kubus-cni';

/**
 * The name under which a handler of RuntimeClasses is configured a second time in a runtime, so that its pods get their
 * network through the shim: the same runtime with the CNI folder of Kubus' own handler.
 *
 * @param own Kubus' own handler, which uses the default runtime
 * @param handler as named by a RuntimeClass; empty for the default one
 */
export function handlerWithShim(own: string, handler: string): string {
  return handler === '' ? own : `${own}-${handler}`;
}

/**
 * What runtimes pass to plugins that declare it (CNI CONVENTIONS.md, "Dynamic Plugin specific fields"), and
 * containerd's own addition, the pod's annotations.
 */
const CAPABILITIES = [
  'portMappings',
  'bandwidth',
  'dns',
  'ipRanges',
  'ips',
  'mac',
  'infinibandGUID',
  'deviceID',
  'aliases',
  'cgroupPath',
  'io.kubernetes.cri.pod-annotations',
];

/**
 * The network configuration (a `.conflist`) for the runtime's own folder: one network whose only plugin is the shim. It
 * declares every capability, so that the plugins of the real chain can choose theirs. Runtimes that support `cniVersions` use
 * the newest version (and so call STATUS); older ones use `cniVersion`.
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
