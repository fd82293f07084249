/** The command `kubus` for a node, as people type it. */
export function kubusCommand(node: string): string {
  return node === 'node0' ? './kubus' : `./kubus --node ${node}`;
}
