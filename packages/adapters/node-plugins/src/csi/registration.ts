import type { PluginInfo, PluginType } from '../registration/registration.ts';
import { KubusError } from '@kubus/ports';
import { CsiNode, type CsiNodeInfo } from './csi-node.ts';
import { compareVersions, highestVersion } from './version.ts';

/** A registered driver. */
export interface RegisteredDriver extends CsiNodeInfo {
  readonly name: string;
  readonly node: CsiNode;
}

/** The registration of CSI drivers on a node. */
export const csiPlugins: PluginType<RegisteredDriver> = {
  type: 'CSIPlugin',
  validate,
  open: async ({ name, endpoint }) => {
    const node = new CsiNode(endpoint);
    return { name, node, ...(await node.info()) };
  },
};

function validate({ name, endpoint, supportedVersions }: PluginInfo, present: readonly string[] | undefined): void {
  const refuse = (why: string) => {
    const what = `validation failed for CSI Driver ${name} at endpoint ${endpoint}`;
    const detail = `kubernetes.io/csi: ValidatePlugin for CSI driver "${name}" failed. ${why}`;
    return new KubusError('refused', `${what}: ${detail}`);
  };
  if (supportedVersions.length === 0) throw refuse('Plugin returned an empty list for supported versions');
  const version = highestVersion(supportedVersions);
  if (version === undefined) {
    throw refuse(`None of the versions specified ${JSON.stringify(supportedVersions)} are supported.`);
  }
  const its = present && highestVersion(present);
  if (its !== undefined && compareVersions(its, version) >= 0) {
    throw refuse(
      `Another driver with the same name is already registered with a higher supported version: "${its.join('.')}"`,
    );
  }
}
