import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { type RunProgram, UtilChains } from '../src/network/util-chains.ts';

const execute = promisify(execFile);

let namespace: ChildProcess;
let run: RunProgram;
let calls: string[];
const clock = new ManualClock();

beforeEach(async () => {
  // A network namespace of this test alone, which ends with the process that holds it.
  namespace = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec sleep 600'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (namespace.stdout !== null) await once(namespace.stdout, 'data');
  calls = [];
  run = (program, args) => {
    calls.push(args.join(' '));
    return execute('nsenter', [`--net=/proc/${namespace.pid}/ns/net`, '--', program, ...args]);
  };
});
afterEach(async () => {
  const exited = once(namespace, 'exit');
  namespace.kill('SIGKILL');
  await exited;
});

async function listed(program: string, table: string): Promise<string> {
  const { stdout } = (await run(program, ['-w', '5', '-t', table, '-S'])) as { stdout: string };
  return stdout;
}

test('the chains are created once, and again after a flush', async () => {
  const chains = new UtilChains({ clock, logger: silentLogger, run });
  await chains.start();
  const check = async () => {
    expect(await listed('iptables', 'mangle')).toMatch(/-N KUBE-IPTABLES-HINT\n-N KUBE-KUBELET-CANARY/);
    const filter = await listed('iptables', 'filter');
    expect(filter.match(/-A (INPUT|OUTPUT) -j KUBE-FIREWALL/g)).toHaveLength(2);
    expect(filter.match(/-A KUBE-FIREWALL .*-j DROP/g)).toEqual([
      '-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" ' +
        '-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
    ]);
    expect(await listed('iptables', 'nat')).toContain('-N KUBE-KUBELET-CANARY');
    expect(await listed('ip6tables', 'mangle')).toContain('-N KUBE-IPTABLES-HINT');
    expect(await listed('ip6tables', 'filter')).not.toContain('KUBE-FIREWALL');
  };
  await check();

  calls.length = 0;
  await chains.start();
  expect(calls.filter((call) => / -[NIA] /.test(call))).toEqual([]);

  for (const table of ['mangle', 'filter']) {
    await run('iptables', ['-w', '5', '-t', table, '-F']);
    await run('iptables', ['-w', '5', '-t', table, '-X']);
  }
  await chains.start();
  await check();

  await run('iptables', ['-w', '5', '-t', 'filter', '-F']);
  await chains.start();
  await check();
  chains.stop();
});

test('a system without the program is left unchanged', async () => {
  const tried: string[] = [];
  const chains = new UtilChains({
    clock,
    logger: silentLogger,
    run: (program) => {
      tried.push(program);
      return Promise.reject(Object.assign(new Error('spawn ENOENT'), { code: 'ENOENT' }));
    },
  });
  await chains.start();
  await chains.start();
  chains.stop();
  expect(tried).toEqual(['iptables', 'ip6tables']);
});
