import { CniCode, CniError, type PluginCall, type PluginOutput, type PluginRunner } from '@kubus/cni-config';
import type { ProcessGuard } from './process-guard.ts';
import type { Random } from '@kubus/ports';
import type { Scheduler } from './scheduler.ts';

/** A model of a bridge plugin with host-local addresses: its leases outlive every process. */
export class PluginModel {
  /** Container ID to address: the IPAM folder. */
  readonly leases = new Map<string, string>();
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  #next = 2;
  /** Probability that a plugin fails before it has changed anything. */
  trouble = { failed: 0 };

  constructor(options: { scheduler: Scheduler; random: Random }) {
    this.#scheduler = options.scheduler;
    this.#random = options.random;
  }

  /** Plugins run by one process. They are its children: a later life ends those that are still running before it starts. */
  runner(guard: ProcessGuard, strays: Set<{ ended: boolean }>): PluginRunner {
    return {
      run: (call) => guard.promise(this.#run(call, strays)),
      endStrays: () => {
        const count = strays.size;
        for (const stray of strays) stray.ended = true;
        strays.clear();
        return Promise.resolve(count);
      },
    };
  }

  async #run(call: PluginCall, running: Set<{ ended: boolean }>): Promise<PluginOutput> {
    const child = { ended: false };
    running.add(child);
    await this.#time();
    const failed = this.#random.chance(this.trouble.failed);
    const { CNI_COMMAND: command, CNI_CONTAINERID: id = '' } = call.env;
    if (!child.ended && !failed && command === 'ADD')
      this.leases.set(id, this.leases.get(id) ?? `10.88.0.${this.#next++}`);
    await this.#time();
    if (!child.ended && !failed && command === 'DEL') this.leases.delete(id);
    running.delete(child);
    if (failed) throw new CniError(CniCode.ioFailure, 'the plugin failed');
    if (command !== 'ADD') return { exitCode: 0, stdout: '', stderr: '' };
    const result = {
      cniVersion: '1.0.0',
      interfaces: [{ name: 'eth0', sandbox: '/run/netns/x' }],
      ips: [{ address: `${this.leases.get(id) ?? ''}/16`, interface: 0 }],
    };
    return { exitCode: 0, stdout: JSON.stringify(result), stderr: '' };
  }

  #time(): Promise<void> {
    return new Promise((resolve) => this.#scheduler.after(this.#random.between(1, 10), resolve));
  }
}
