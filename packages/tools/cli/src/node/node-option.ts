/** The default of `--node`: the environment variable KUBUS_NODE, else `node0`. */
export function defaultNode(): string {
  return process.env['KUBUS_NODE'] ?? 'node0';
}
