import type { Guest } from './guest.ts';

/** The containerd of the guest that a group uses: the one of the release, or the one unpacked beside it. */
type ContainerdSeries = '1' | '2';
export type Driver = 'cgroupfs' | 'systemd';

export interface RuntimeSetup {
  readonly containerd: ContainerdSeries;
  readonly driver: Driver;
}

const PODS_NETWORK = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      ipMasq: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: '10.88.0.0/16' }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
};

/** Where the second series lies; the first is the machine's own. */
const SECOND = '/opt/containerd2/usr';

/** The settings that both series read: the second converts the form of the first. Each has a state of its own. */
function containerdConfig({ containerd, driver }: RuntimeSetup): string {
  return `version = 2
root = "/var/lib/containerd-${containerd}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.10"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "/etc/cni/net.d"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = ${String(driver === 'systemd')}
`;
}

function containerdUnit({ containerd }: RuntimeSetup): string {
  if (containerd === '1') return '[Service]\n';
  return `[Service]
Environment=PATH=${SECOND}/bin:${SECOND}/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin
ExecStart=
ExecStart=${SECOND}/bin/containerd
`;
}

/** Starts containerd in this setup as a unit that comes up at boot, with the images of a node and a network for its pods. */
export async function setUpRuntime(guest: Guest, setup: RuntimeSetup): Promise<void> {
  await guest.write('/etc/containerd/config.toml', containerdConfig(setup));
  await guest.write('/etc/systemd/system/containerd.service.d/series.conf', containerdUnit(setup));
  await guest.write('/etc/cni/net.d/10-pods.conflist', JSON.stringify(PODS_NETWORK));
  await guest.run('systemctl daemon-reload && systemctl enable --quiet containerd && systemctl restart containerd');
  await guest.run('for image in /opt/images/*.tar; do ctr --namespace k8s.io images import "$image" >/dev/null; done');
}

/** The programs of a setup, for questions about their versions. */
export function runtimePrograms({ containerd }: RuntimeSetup): { readonly containerd: string; readonly runc: string } {
  return containerd === '1'
    ? { containerd: '/usr/bin/containerd', runc: '/usr/sbin/runc' }
    : { containerd: `${SECOND}/bin/containerd`, runc: `${SECOND}/sbin/runc` };
}
