import { KUBERNETES_MINOR, nodeVersion } from '@kubus/node-status';
import { type MetricDeclaration, architecture, version } from '@kubus/service-kit';

const [major = '', minor = ''] = KUBERNETES_MINOR.split('.');

/** Which release of Kubernetes this node is of. What only a program made by Go's compiler has is empty. */
export const buildInfo: MetricDeclaration = {
  type: 'gauge',
  name: 'kubernetes_build_info',
  help: 'The release of Kubernetes whose node this is, and what it was built with; always 1.',
  collect: () => {
    const labels = {
      ...{ major, minor, git_version: nodeVersion(version), git_commit: '', git_tree_state: '', build_date: '' },
      ...{ go_version: '', compiler: 'node', platform: `linux/${architecture()}` },
    };
    return [{ value: 1, labels }];
  },
};
