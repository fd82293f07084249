import { cniBridge } from '@kubus/cni-bridge';
import { configSources } from '@kubus/config-sources';
import { criBridge } from '@kubus/cri-bridge';
import { kubeApi } from '@kubus/kube-api';
import { nodeAgent } from '@kubus/node-agent';
import { nodeApi } from '@kubus/node-api';
import { objectCache } from '@kubus/object-cache';
import { podWorkers } from '@kubus/pod-workers';
import { prober } from '@kubus/prober';
import { runServices } from '@kubus/service-kit';
import { statusManager } from '@kubus/status-manager';
import { syncLoop } from '@kubus/sync-loop';
import { volumeManager } from '@kubus/volume-manager';

// Several services of a node in one process: the same code, identities and subjects, in less memory.
await runServices([
  cniBridge,
  criBridge,
  volumeManager,
  podWorkers,
  prober,
  syncLoop,
  configSources,
  objectCache,
  nodeAgent,
  statusManager,
  nodeApi,
  kubeApi,
]);
