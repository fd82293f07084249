import type { NetworkOnBus } from '@kubus/cni-bridge';
import { CniError, type PluginOutput } from '@kubus/cni-config';
import { CriError } from '@kubus/cri';
import { type Clock, sleep } from '@kubus/ports';
import type { PodSandboxConfig } from '@kubus/proto/cri';

/** How long the runtime waits for its network plugin, in milliseconds. */
const LIMIT_MS = 45_000;

/** The shim between the runtime and cni-bridge. It survives a crash of either. */
export class SimulatedShim {
  readonly #clock: Clock;
  readonly #network: () => NetworkOnBus | undefined;

  /** @param options.network the current life of cni-bridge */
  constructor(options: { clock: Clock; network: () => NetworkOnBus | undefined }) {
    this.#clock = options.clock;
    this.#network = options.network;
  }

  /** Passes a call of the runtime to cni-bridge, again to its next life when one ends without an answer. Returns the address. */
  async call(command: 'ADD' | 'DEL', sandboxId: string, config: PodSandboxConfig): Promise<string> {
    const { name = '', namespace = '', uid = '' } = config.metadata ?? {};
    const args = `K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name};K8S_POD_UID=${uid}`;
    const invocation = {
      command,
      containerId: sandboxId,
      netns: '/run/netns/x',
      ifname: 'eth0',
      args,
      path: '',
      stdin: JSON.stringify({ cniVersion: '1.0.0', name: 'kubus', type: 'kubus-cni' }),
      name: 'kubus-cni',
    };
    const end = this.#clock.now() + LIMIT_MS;
    while (this.#clock.now() < end) {
      const network = this.#network();
      const output = network === undefined ? undefined : await this.#answer(network, invocation);
      if (output !== undefined) return ipOf(command, output);
      await sleep(this.#clock, 50);
    }
    throw new CriError('Unknown', 'failed to setup network for sandbox: try again later', { method: 'RunPodSandbox' });
  }

  /** The answer of one life of cni-bridge; undefined when it crashed before it answered. */
  #answer(
    network: NetworkOnBus,
    invocation: Parameters<NetworkOnBus['bridge']['handle']>[0],
  ): Promise<PluginOutput | undefined> {
    return new Promise((resolve, reject) => {
      let open = true;
      const look = () => {
        if (!open) return;
        if (this.#network() !== network) resolve(undefined);
        else this.#clock.after(20, look);
      };
      look();
      network.bridge
        .handle(invocation)
        .then((output) => resolve(this.#network() === network ? output : undefined), reject)
        .finally(() => (open = false));
    });
  }
}

function ipOf(command: string, output: PluginOutput): string {
  if (output.exitCode !== 0) {
    throw new CriError('Unknown', `failed to setup network for sandbox: ${output.stdout}`, { method: 'RunPodSandbox' });
  }
  if (command !== 'ADD') return '';
  const { ips } = JSON.parse(output.stdout) as { ips: { address: string }[] };
  const address = ips[0]?.address.split('/')[0];
  if (address === undefined) throw new CniError(999, 'no address');
  return address;
}
