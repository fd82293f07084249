import { checkRuntimeUse } from '@kubus/launcher';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type TestRuntime, startRuntime } from '../src/index.ts';
import { runPod } from './pods.ts';

let runtime: TestRuntime;

beforeAll(async () => {
  runtime = await startRuntime();
});

afterAll(() => runtime.stop());

test('a runtime with pods of another agent is refused, one with only its own pods is not', async () => {
  const { socket, dir } = runtime;
  await expect(checkRuntimeUse(socket, '/var/lib/kubus/guest/pod-logs')).resolves.toBeUndefined();
  await runPod(runtime, { uid: 'a' });
  await expect(checkRuntimeUse(socket, dir.podLogs)).resolves.toBeUndefined();
  await expect(checkRuntimeUse(socket, '/var/lib/kubus/guest/pod-logs')).rejects.toMatchObject({
    code: 'RuntimeInUse',
    message: expect.stringContaining(`the pod default/pod-a, whose logs are in ${dir.podLogs}/a.`) as unknown,
  });
});
