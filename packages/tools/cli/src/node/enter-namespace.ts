import { existsSync, readlinkSync, statSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { nodeDir } from '@kubus/launcher/node-dir';
import { defaultNode } from './node-option.ts';

/** Commands that run in the machine's network: they create or remove the namespace, enter it themselves, need no node, or use its socket. */
const inMachineNetwork = new Set([
  ...['up', 'down', 'ls', 'debug', 'graph', 'identities', 'kubelet', 'observatory', 'experiment', 'help'],
  ...['api-resources', 'completion', 'complete', 'doctor', 'kubeconfig', 'kubectl'],
  ...['logs', 'exec', 'attach', 'port-forward', 'top'],
]);

/**
 * Runs this program again in the network namespace of the node that the arguments name, if the command needs that and the node is
 * running. It replaces the current process (execve), or becomes its child where Node.js has no execve; then this does not return.
 */
export function enterNodeNamespace(args: readonly string[]): void {
  const command = commandOf(args);
  if (command === undefined || inMachineNetwork.has(command) || args.includes('--help') || args.includes('-h')) return;
  // A collector is in the machine's network: the command itself reads the record in the node's.
  if (args.some((arg) => /^--otlp-endpoint(=|$)/.test(arg))) return;
  // Without root the namespace cannot be entered; the command says so itself where it needs it.
  if (process.getuid?.() !== 0) return;
  const namespace = namespaceOf(nodeArgument(args));
  if (namespace === undefined || isInside(namespace)) return;
  const argv = [`--net=${namespace}`, '--', process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  replaceProcess('nsenter', argv);
}

/** The first argument that is neither an option nor the value of `--node`, the only option before a command that has one. */
export function commandOf(args: readonly string[]): string | undefined {
  return args.find((arg, index) => !arg.startsWith('-') && args[index - 1] !== '--node');
}

function nodeArgument(args: readonly string[]): string {
  for (const [index, arg] of args.entries()) {
    if (arg.startsWith('--node=')) return arg.slice('--node='.length);
    if (arg === '--node') return args[index + 1] ?? defaultNode();
  }
  return defaultNode();
}

function namespaceOf(node: string): string | undefined {
  try {
    const { networkNamespace } = nodeDir(node);
    return existsSync(networkNamespace) ? networkNamespace : undefined;
  } catch {
    // The command itself reports an invalid name.
    return undefined;
  }
}

/** Whether this process is in the network namespace that is mounted there. */
export function isInside(namespace: string): boolean {
  return readlinkSync('/proc/self/ns/net') === `net:[${statSync(namespace).ino}]`;
}

/** exec(3) where Node.js has it (22.15 or newer); else a child process whose exit code becomes ours. */
function replaceProcess(program: string, args: string[]): void {
  const path = ['/usr/bin', '/bin', '/usr/sbin', '/sbin']
    .map((dir) => `${dir}/${program}`)
    .find((file) => existsSync(file));
  if (path === undefined) throw new Error(`${program} is not installed: install the package util-linux`);
  if (typeof process.execve === 'function') process.execve(path, [program, ...args], process.env);
  const { status } = spawnSync(path, args, { stdio: 'inherit' });
  process.exit(status ?? 1);
}
