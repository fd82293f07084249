import { KUBERNETES_MINOR, nodeVersion } from '@kubus/node-status';
import { type MetricDeclaration, architecture, version } from '@kubus/service-kit';

const [major = '', minor = ''] = KUBERNETES_MINOR.split('.');

/** The release of Kubernetes that this node implements. Fields that only a Go program has are empty. */
export const buildInfo: MetricDeclaration = {
  type: 'gauge',
  name: 'kubernetes_build_info',
  help: 'The release of Kubernetes that this node implements, and what it was built with; always 1.',
  collect: () => {
    const labels = {
      ...{ major, minor, git_version: nodeVersion(version), git_commit: '', git_tree_state: '', build_date: '' },
      ...{ go_version: '', compiler: 'node', platform: `linux/${architecture()}` },
    };
    return [{ value: 1, labels }];
  },
};
