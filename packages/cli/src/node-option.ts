/** The node that commands are about unless `--node` or the environment variable KUBUS_NODE names another one. */
export function defaultNode(): string {
  return process.env['KUBUS_NODE'] ?? 'node0';
}
