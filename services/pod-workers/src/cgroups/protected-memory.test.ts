import { expect, test } from '@jest/globals';
import { Metrics } from '@kubus/service-kit';
import { showProtectedMemory } from './protected-memory.ts';

test('protected memory is shown for each class, though the cgroup of all pods protects both', async () => {
  const metrics = new Metrics({});
  showProtectedMemory(metrics, { protectedMemory: { pods: 300n, burstable: 100n } });
  const { text } = await metrics.write();
  expect(text).toContain('kubelet_memory_qos_node_memory_min_bytes 200\n');
  expect(text).toContain('kubelet_memory_qos_node_memory_low_bytes 100\n');
});
