// The connection to a real containerd: states, losses, limits, and errors of failed calls.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type CriClient, type CriConnection, connectCri } from '../src/index.ts';
import { type TestContainerd, startContainerd } from './containerd.ts';
import { connected, connectionBecomes, containerConfig, createContainer, podConfig, runSandbox } from './pods.ts';
import { ports } from './ports.ts';

let runtime: TestContainerd;
beforeAll(async () => {
  runtime = await startContainerd();
});
afterAll(() => runtime.stop());

const clients: CriClient[] = [];
afterEach(() => {
  clients.splice(0).forEach((client) => client.close());
});

function connect(socket = runtime.socket): CriClient {
  const client = connectCri({ socket, ...ports });
  clients.push(client);
  return client;
}

describe('an unavailable runtime', () => {
  it('is reported as a state, and calls fail at once', async () => {
    const client = connect(`${runtime.folder}/none.sock`);
    expect(client.connection).toBe('connecting');
    await connectionBecomes(client, 'lost');
    await expect(client.call('Version', {})).rejects.toMatchObject({ name: 'CriError', code: 'Unavailable' });
  });

  it('that starts, stops and starts again is followed', async () => {
    await runtime.kill();
    const client = connect();
    const states: CriConnection[] = [];
    client.watchConnection((connection) => states.push(connection));
    await connectionBecomes(client, 'lost');
    await runtime.restart();
    await connected(client);
    await runtime.kill();
    await connectionBecomes(client, 'lost');
    await expect(client.call('Version', {})).rejects.toMatchObject({ code: 'Unavailable' });
    await runtime.restart();
    await connected(client);
    await expect(client.call('Version', {})).resolves.toMatchObject({ runtimeName: 'containerd' });
    expect(states).toEqual(['connecting', 'lost', 'connected', 'lost', 'connected']);
  });

  it('that stops during a call fails the call', async () => {
    const client = await connected(connect());
    const config = podConfig(runtime, 'in-the-middle');
    const sandbox = await runSandbox(client, config);
    const container = await createContainer(client, sandbox, config, containerConfig('main', ['sleep', '1000']));
    await client.call('StartContainer', { containerId: container });
    const command = client.call('ExecSync', { containerId: container, cmd: ['sleep', '1000'] });
    const failed = expect(command).rejects.toMatchObject({ code: 'Unavailable', context: { containerId: container } });
    // The command has been received when a later call on the same connection is answered.
    await client.call('Version', {});
    await runtime.kill();
    await failed;
    await runtime.restart();
  });
});

describe('a call', () => {
  it('that fails names its method, its subject and the error of the runtime', async () => {
    const client = await connected(connect());
    await expect(client.call('ContainerStatus', { containerId: 'missing' })).rejects.toMatchObject({
      code: 'NotFound',
      message: expect.stringMatching(/^ContainerStatus: .*"missing": not found$/) as unknown,
      details: expect.stringMatching(/"missing": not found$/) as unknown,
      context: { method: 'ContainerStatus', containerId: 'missing' },
    });
  });

  it('that cannot be encoded is refused before it is sent', async () => {
    const client = await connected(connect());
    await expect(client.call('StopContainer', { containerId: 'x', timeout: 'soon' })).rejects.toMatchObject({
      code: 'InvalidArgument',
    });
  });

  it('ends at its deadline', async () => {
    const client = await connected(connect());
    const config = podConfig(runtime, 'deadline');
    const sandbox = await runSandbox(client, config);
    const container = await createContainer(client, sandbox, config, containerConfig('main', ['sleep', '1000']));
    await client.call('StartContainer', { containerId: container });
    const request = { containerId: container, cmd: ['sleep', '1000'] };
    await expect(client.call('ExecSync', request, { deadlineMs: 200 })).rejects.toMatchObject({
      code: 'DeadlineExceeded',
    });
  });

  it('is cancelled by its signal, also before it has started', async () => {
    const client = await connected(connect());
    const config = podConfig(runtime, 'signal');
    const sandbox = await runSandbox(client, config);
    const container = await createContainer(client, sandbox, config, containerConfig('main', ['sleep', '1000']));
    await client.call('StartContainer', { containerId: container });
    const cancel = new AbortController();
    const options = { deadlineMs: undefined, signal: cancel.signal };
    const command = client.call('ExecSync', { containerId: container, cmd: ['sleep', '1000'] }, options);
    const failed = expect(command).rejects.toMatchObject({ code: 'Cancelled' });
    await client.call('Version', {});
    cancel.abort();
    await failed;
    await expect(client.call('Version', {}, options)).rejects.toMatchObject({ code: 'Cancelled' });
  });

  it('may have a response above the default limit of gRPC (4 MiB)', async () => {
    const client = await connected(connect());
    const config = podConfig(runtime, 'large');
    const sandbox = await runSandbox(client, config);
    const container = await createContainer(client, sandbox, config, containerConfig('main', ['sleep', '1000']));
    await client.call('StartContainer', { containerId: container });
    const cmd = ['head', '-c', '9000000', '/dev/zero'];
    const { stdout } = await client.call('ExecSync', { containerId: container, cmd });
    expect(stdout).toBe(Buffer.alloc(9_000_000).toString('base64'));
  });

  it('after close is refused', async () => {
    const client = await connected(connect());
    client.close();
    await expect(client.call('Version', {})).rejects.toMatchObject({ code: 'Cancelled' });
  });
});
