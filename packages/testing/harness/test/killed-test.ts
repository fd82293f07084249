// Starts a runtime with a pod, reports their paths, and waits to be killed.
import { join } from 'node:path';
import { shimSocket } from '@kubus/launcher';
import { startRuntime } from '../src/test-runtime.ts';
import { runPod } from './pods.ts';

const runtime = await startRuntime();
const { sandboxId } = await runPod(runtime, { uid: 'a' });
console.log(
  JSON.stringify({
    folder: join(runtime.dir.root, '../..'),
    cgroupRoot: runtime.dir.cgroupRoot,
    sandboxId,
    socketOfShim: shimSocket(runtime.socket, sandboxId),
  }),
);
setInterval(() => undefined, 1000);
