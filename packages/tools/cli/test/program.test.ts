import { describe, expect, jest, test } from '@jest/globals';
import { serviceContracts } from '@kubus/contracts';
import { type Command, CommanderError } from 'commander';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { parse } from 'yaml';
import { printDocument } from '../src/output/output.ts';
import { createProgram } from '../src/program.ts';
import { resourceTypes } from '../src/resources/types.ts';
import { UserError } from '../src/user-error.ts';
import { readTable } from './arguments-table.ts';

/** The name of a node that does not exist. */
const NODE = 'no-such-node';

/** Runs a command in this process: its output, and the error that it throws. */
async function parsed(...args: string[]): Promise<{ stdout: string; stderr: string; error: unknown }> {
  const outcome = { stdout: '', stderr: '', error: undefined as unknown };
  const log = jest.spyOn(console, 'log').mockImplementation((text: string) => (outcome.stdout += `${text}\n`));
  const program = await createProgram();
  for (const command of [program, ...subcommands(program)]) {
    command.configureOutput({
      writeOut: (text) => (outcome.stdout += text),
      writeErr: (text) => (outcome.stderr += text),
    });
  }
  try {
    await program.parseAsync(['--node', NODE, ...args], { from: 'user' });
  } catch (error) {
    outcome.error = error;
  } finally {
    log.mockRestore();
  }
  return outcome;
}

function subcommands(command: Command): Command[] {
  return command.commands.flatMap((one) => [one, ...subcommands(one)]);
}

const commands = [
  ...[
    'up',
    'down',
    'ls',
    'status',
    'get',
    ...['get pods', 'get nodes', 'get events', 'get manifests'],
    ...[
      'describe',
      'describe pod',
      'describe node',
      'api-resources',
      'version',
      'completion',
      'why',
      'doctor',
      'bug-report',
    ],
    'logs',
    'exec',
    'tail',
  ],
  ...[
    'attach',
    'port-forward',
    'top',
    'top node',
    'top pods',
    'pressure',
    'events',
    'trace',
    'trace pod',
    'graph',
    'identities',
    'replay',
    'restart',
    'scale',
    'debug',
    'fault',
    ...['drop', 'delay', 'duplicate', 'reorder', 'list', 'clear', 'pause', 'kill', 'restart'].map(
      (name) => `fault ${name}`,
    ),
    'experiment',
    'experiment run',
    'observatory',
    'record',
    ...['start', 'stop', 'list', 'delete', 'export', 'import'].map((name) => `record ${name}`),
    'diff',
    'topology',
    'topology machine',
    'topology try',
    'replace',
    'inside',
    ...['kubectl', 'kubeconfig'],
    'image',
    ...['load', 'pull', 'ls', 'rm', 'inspect'].map((name) => `image ${name}`),
  ],
];

/** `kubelet` has the help of the reference; the others are not commands of the program. */
const others = ['kubelet', 'test', 'bench', 'help'];

test('arguments.tsv has every option; "pnpm --filter @kubus/cli write-arguments" writes it', async () => {
  const { present, wanted } = await readTable();
  expect(present).toBe(wanted);
});

test('a command that is named is loaded alone; for every other word all are, and for completion', async () => {
  const names = async (only?: string) => (await createProgram(only)).commands.map((command) => command.name());
  expect(await names('ls')).toEqual(['ls', 'test', 'bench']);
  const all = await names();
  expect(all).toEqual(expect.arrayContaining(['up', 'get', 'completion', 'complete']));
  for (const word of ['complete', 'help', 'constructor']) expect(await names(word)).toEqual(all);
});

describe('help', () => {
  test('of the program lists every command with a description, except hidden ones', async () => {
    const { stdout, stderr } = await parsed('--help');
    expect(stderr).toBe('');
    const listed = [...stdout.slice(stdout.indexOf('\nNode:\n')).matchAll(/^ {2}(\S+).* {2,}(\S.*)$/gm)];
    const names = listed.map(([, name]) => name);
    expect(names.sort()).toEqual([...commands.filter((name) => !name.includes(' ')), ...others].sort());
  });

  test.each(commands)('of %s shows its usage and the --node option', async (name) => {
    const { stdout, stderr, error } = await parsed(...name.split(' '), '--help');
    expect(stderr).toBe('');
    expect(error).toMatchObject({ code: 'commander.helpDisplayed', exitCode: 0 });
    expect(stdout).toContain(`Usage: kubus ${name}`);
    expect(stdout).toContain('--node <name>');
  });
});

test.each([
  ['an unknown command', 'frobnicate', /unknown command 'frobnicate'/],
  ['an unknown option', 'status --nope', /unknown option '--nope'/],
  ['a missing argument', 'logs', /missing required argument 'pod'/],
  ['an extra argument', 'status a', /too many arguments/],
  ['an unknown format', 'get pods -o xml', /argument 'xml' is invalid/],
  ['an unknown service', 'graph nope', /unknown service "nope"/],
  ['an invalid number', 'logs a --tail few', /whole number/],
  ['a duration without its unit', 'logs a --since 5', /duration like/],
  ['a negative duration', 'logs a --since=-5s', /duration like/],
  ['an invalid time', 'down --grace soon', /whole number/],
  ['a delay without a duration', 'fault delay a.>', /required option '--by/],
  ['an invalid delay', 'fault delay a.> --by soon', /duration like/],
  ['a pause without a duration', 'fault pause prober', /required option '--for/],
  ['invalid numbers', 'fault drop a.> --nth 1,two', /whole number/],
  ['a name that no node can have', '--node A_B status', /^error: option '--node <name>' argument 'A_B' is invalid/],
  ['manifests that do not exist', 'up --manifests /none', /argument '\/none' is invalid. It does not exist/],
  ['a network that no node has', 'up --network bridge', /'bridge' is invalid\. Allowed choices are nat, none, host\./],
  ['faults with an external NATS server', 'up --faults --nats nats://127.0.0.1:1', /cannot be used with/],
])('wrong usage is reported: %s', async (_what, args, message) => {
  const { stdout, stderr, error } = await parsed(...args.split(' '));
  expect(error).toBeInstanceOf(CommanderError);
  expect(error).not.toMatchObject({ exitCode: 0 });
  expect(stdout).toBe('');
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/^error: /);
});

test.each([
  'get pods',
  'status',
  'logs a',
  'exec a -- ls',
  'attach a',
  'port-forward a 80',
  'top node',
  'tail',
  'trace pod a',
  'restart sync-loop',
  'describe pod a',
  'fault list',
  'fault drop >',
  'fault kill prober',
])('%s reports that the node is not running and creates nothing', async (args) => {
  const { stdout, stderr, error } = await parsed(...args.split(' '));
  expect(error).toBeInstanceOf(UserError);
  expect(String(error)).toContain(`node ${NODE} does not exist on this machine`);
  expect([stdout, stderr]).toEqual(['', '']);
  expect(existsSync(`/var/lib/kubus/${NODE}`)).toBe(false);
});

test.each<readonly [string, RegExp]>([
  ['statsu', /^error: unknown command 'statsu'\n\(Did you mean status\?\)\n$/],
  ['apply', /^error: unknown command 'apply'\na node runs the pods of its folder of manifests: [^]*\n$/],
  ['rollout', /^error: unknown command 'rollout'\n"kubus --help" lists the commands\n$/],
  ...resourceTypes
    .flatMap(({ name, singular, shortNames }) => [name, singular, ...shortNames])
    .filter((word) => word !== 'events')
    .map((word) => [word, new RegExp(`^error: unknown command '${word}'\nit is "kubus get ${word}"\n$`)] as const),
])('the unknown command %s is answered with a suggestion only if that is likely', async (command, expected) => {
  expect((await parsed(command)).stderr).toMatch(expected);
});

test('--node is accepted after the command, too, and the last one counts', async () => {
  for (const args of ['status --node other-node', 'get pods --node other-node', 'get --node other-node pods']) {
    const { error } = await parsed(...args.split(' '));
    expect([args, String(error)]).toEqual([args, expect.stringContaining('node other-node does not exist')]);
  }
});

test('the graph shows the publishers and readers of each subject, as text and as JSON', async () => {
  const { services: graph, ...header } = JSON.parse((await parsed('graph', '-o', 'json')).stdout) as {
    services: Record<string, { writes: string[]; reads: string[] }>;
  };
  expect(header).toEqual({ apiVersion: 'kubus.dev/v1', kind: 'Graph' });
  expect(Object.keys(graph)).toEqual(Object.keys(serviceContracts));
  expect(graph['sync-loop']?.writes).toContain(`kubus.${NODE}.sync.fact.pod.>`);
  expect(graph['sync-loop']?.reads).toContain(`kubus.${NODE}.config.fact.file.>`);
  expect(graph['sync-loop']?.reads).not.toContain(`kubus.${NODE}.fault.fact.rule.>`);
  expect((await parsed('graph', 'sync-loop', '--faults')).stdout).toContain(`reads   kubus.${NODE}.fault.fact.rule.>`);
  const dot = await parsed('graph', '-o', 'dot');
  expect(dot.stdout).toMatch(/^digraph kubus \{\n[^]*\n\}\n$/);
  expect(dot.stdout).toContain(`"kubus.${NODE}.sync.fact.pod.>" -> "pod-workers";`);
  const one = await parsed('graph', 'sync-loop');
  expect(one.stdout).toMatch(/^sync-loop: /);
  expect(one.stdout).not.toMatch(/^pod-workers: /m);
});

function kubusArguments(...args: string[]): string[] {
  const program = new URL('../src/main.ts', import.meta.url).pathname;
  return ['--disable-warning=ExperimentalWarning', program, '--node', NODE, ...args];
}

/** As users start it. */
function kubus(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, kubusArguments(...args), (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

test.each([
  ['0 for help', 'get --help', 0, /^$/],
  ['0 for its version', '--version', 0, /^$/],
  ['2 for wrong usage', 'status --nope', 2, /^error: unknown option '--nope'\n/],
  ['2 without a command', '', 2, /^Usage: kubus /],
  ['1 and one line for what cannot be done', 'status', 1, /^kubus: node no-such-node does not exist.*\n$/],
])('the exit code is %s', async (_what, args, wanted, message) => {
  const { code, stderr } = await kubus(...args.split(' ').filter((word) => word !== ''));
  expect([code, stderr]).toEqual([wanted, expect.stringMatching(message)]);
});

test.each(['json', 'yaml'] as const)('a document printed as %s parses to the same value', (format) => {
  const document = { apiVersion: 'v1', kind: 'List', items: [{ a: null, b: 'yes', c: '007', d: [] }] };
  let text = '';
  jest.spyOn(console, 'log').mockImplementation((line: string) => (text += line));
  printDocument(document, format);
  expect(format === 'json' ? JSON.parse(text) : parse(text)).toEqual(document);
  expect(text).not.toMatch(/\n$/);
});

test('a program whose output pipe is closed prints nothing and exits as if killed by SIGPIPE', async () => {
  const child = spawn(process.execPath, kubusArguments('graph'), { stdio: ['ignore', 'pipe', 'pipe'] });
  // Before the program has written anything.
  child.stdout.destroy();
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close') as Promise<[number | null]>]);
  expect([code, stderr]).toEqual([141, '']);
});

test('a program that cannot write its output reports the cause', async () => {
  const argv = ['-c', 'exec "$0" "$@" >/dev/full', process.execPath, ...kubusArguments('graph')];
  const child = spawn('/bin/sh', argv, { stdio: ['ignore', 'ignore', 'pipe'] });
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close') as Promise<[number | null]>]);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^kubus: writing standard output failed: ENOSPC.*\n$/)]);
});
