// Tests that need an ordinary node share one; each has its own pods. The first reads
// everything that the node has recorded, and the last kill parts of the node.
import './plain-node/no-observatory.ts';
import './plain-node/no-faults.ts';
import './plain-node/node-api.ts';
import './plain-node/stats.ts';
import './plain-node/cli-streams.ts';
import './plain-node/pods.ts';
import './plain-node/user-namespaces.ts';
import './plain-node/instances.ts';
