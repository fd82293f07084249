import { type NodeDir, compileNatives, nodeConfigFile, nodeDir, nodeMark } from '@kubus/launcher';
import { type Command, InvalidArgumentError } from 'commander';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runInsteadOf, instanceOf, forwardSignals, slotOf } from '../node/run-instead.ts';
import { checkout } from '../nats-option.ts';
import { isInside } from '../node/enter-namespace.ts';
import { type NodeLink, connectNode } from '../node/node-link.ts';
import { programInNode } from '../node/program-in-node.ts';
import { requireRoot } from '../node/require-root.ts';
import { upCommand } from '../node/no-such-node.ts';
import { UserError } from '../user-error.ts';
import { printError } from '../output/output.ts';

interface DebugOptions {
  inspectBrk?: boolean;
  port: number;
}

export function addDebug(program: Command): void {
  const command = (name: string, settings: { hidden?: boolean } = {}) =>
    program
      .command(name, settings)
      .argument('<service>', 'a service or instance, such as prober or prober-0')
      .option('--inspect-brk', 'stop before the first line until a debugger is attached')
      .option('--port <port>', 'TCP port of the inspector on 127.0.0.1', portNumber, 9229);
  command('debug')
    .description(
      'run a service from its sources under the Node.js inspector instead of the bundled one; pods keep running',
    )
    .action(async (service: string, options: DebugOptions, self: Command) => {
      await debug(self.optsWithGlobals<{ node: string }>().node, instanceOf(service), options);
    });
  command('debug-inside', { hidden: true }).action(async (instance: string, options: DebugOptions, self: Command) => {
    await debugInside(await connectNode(self.optsWithGlobals<{ node: string }>().node), instance, options);
  });
}

/** Runs in the machine's network: makes the inspector reachable there and runs `debug-inside` in the node's network. */
async function debug(node: string, instance: string, { port, inspectBrk }: DebugOptions): Promise<void> {
  requireRoot('debug');
  const dir = nodeDir(node);
  if (!existsSync(dir.networkNamespace))
    throw new UserError(`node ${node} is not running: start it with ${upCommand(node)}`);
  // On the machine's network the service listens there itself.
  const relay = isInside(dir.networkNamespace) ? undefined : await inspectorRelay(dir, port);
  try {
    const flags = ['--port', String(port), ...(inspectBrk === true ? ['--inspect-brk'] : [])];
    const [program, ...args] = programInNode(dir, ['debug-inside', instance, ...flags]);
    const inside = spawn(program, args, { stdio: 'inherit' });
    forwardSignals(inside);
    const [code] = (await once(inside, 'exit')) as [number | null];
    process.exitCode = code ?? 1;
  } finally {
    relay?.kill();
  }
}

/** Starts a relay from the TCP port on this machine's loopback to the same port in the node's network. */
async function inspectorRelay(dir: NodeDir, port: number): Promise<ChildProcess> {
  const { portRelay } = await compileNatives(join(checkout, '.kubus/cache'));
  const args = [String(port), dir.networkNamespace, '127.0.0.1', String(port)];
  const relay = spawn(portRelay, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const [output] = (await once(relay.stderr, 'data')) as [Buffer];
  relay.stderr.resume();
  if (output.includes('forwarding')) return relay;
  throw new UserError(`cannot listen on 127.0.0.1:${port}: choose another TCP port with --port`);
}

/** Runs in the node's network: replaces the bundled service until the debugged one ends. */
async function debugInside(link: NodeLink, instance: string, options: DebugOptions): Promise<void> {
  await runInsteadOf(link, instance, () => {
    printError(`kubus: ${instance} runs from its sources; attach a debugger to 127.0.0.1:${options.port}`);
    return spawnService(link.dir, instance, options);
  });
}

function spawnService(dir: NodeDir, instance: string, { port, inspectBrk }: DebugOptions): ChildProcess {
  const slot = slotOf(instance);
  const service = instance.slice(0, -slot.length - 1);
  const inspect = inspectBrk === true ? '--inspect-brk' : '--inspect';
  const source = join(checkout, 'services', service, 'src/main.ts');
  const args = [
    `${inspect}=127.0.0.1:${port}`,
    '--enable-source-maps',
    '--disable-warning=ExperimentalWarning',
    source,
  ];
  // With the node's mark, `kubus down` ends it too.
  const env = { ...process.env, [nodeMark]: dir.root };
  return spawn(process.execPath, [...args, '--config', nodeConfigFile(dir), '--slot', slot], { stdio: 'inherit', env });
}

function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    throw new InvalidArgumentError('must be a TCP port, 1 to 65535');
  return port;
}
